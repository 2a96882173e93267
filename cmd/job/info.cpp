// flux job info, taskmap, timeleft, hostpids: what a job is made of
#include "cmd/event_options.hpp"
#include "cmd/follow/event_watch.hpp"
#include "cmd/follow/proctable.hpp"
#include "cmd/job/commands.hpp"
#include "cmd/select/select.hpp"
#include "cmd/time/moment.hpp"

#include <flux/base64.hpp>
#include <flux/duration.hpp>
#include <flux/parse_integer.hpp>
#include <flux/resource_protocol.hpp>
#include <flux/resource_set.hpp>
#include <flux/taskmap.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

namespace flux::cmd::job {
namespace {

using job_info_protocol::current;

Task<std::string> lookup(Handle* handle, JobId id, std::string key, int flags) {
    auto payload = Json::object("id", id, "keys", Json::array_of(key), "flags", flags);
    auto answer = co_await handle->call(job_info_protocol::lookup.topic, std::move(payload));
    co_return answer.json().get<std::string>(key);
}

void print_text(const std::string& text) { fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n"); }

Task<int> info(Handle* handle, JobId id, std::string key, const options::Parsed* parsed) {
    if (key == "jobspec" && parsed->has("original")) {
        auto signed_jobspec = co_await lookup(handle, id, "J", 0);
        auto begin = signed_jobspec.find('.');
        auto end = signed_jobspec.find('.', begin + 1);
        if (end == std::string::npos) throw Error(EINVAL, "J: malformed signed jobspec");
        print_text(base64_decode(std::string_view(signed_jobspec).substr(begin + 1, end - begin - 1)));
        co_return 0;
    }
    const bool updated = (key == "jobspec" || key == "R") && !parsed->has("base");
    const int flags = updated ? current : 0;
    print_text(co_await lookup(handle, id, key, flags));
    co_return 0;
}

Task<Json> task_map_of(Handle* handle, JobId id) {
    follow::EventWatch watch(*handle, id, follow::exec_log, follow::wait_create);
    while (auto item = co_await watch.next())
        if (item->event().name == "shell.start") co_return item->event().context.get<JsonView>("taskmap").copy();
    throw Error(ENOENT, "the job has not started its tasks");
}

unsigned number(const options::Parsed& parsed, const char* option) { return parsed.number<unsigned>(option, 0); }

Task<Hostlist> hosts_of(Handle* handle, JobId id) {
    auto text = co_await lookup(handle, id, "R", current);
    co_return ResourceSet::parse(text).hosts();
}

void print_task_map(const Taskmap& map, std::string_view form, const Hostlist* hosts) {
    if (form.empty())
        fmt::print("{}\n", map.encode());
    else if (form == "raw")
        fmt::print("{}\n", map.encode_raw());
    else if (form == "pmi")
        fmt::print("{}\n", map.encode_pmi());
    else if (form == "multiline")
        for (std::size_t task = 0; task < map.ntasks(); ++task) fmt::print("{}: {}\n", task, *map.node_of(task));
    else if (form == "hosts" && hosts)
        for (auto node : map.nodes()) fmt::print("{}: {}\n", hosts->at(node), map.tasks_of(node).encode());
    else if (form == "hosts")
        throw Error(EINVAL, "hosts can only be told of a job");
    else
        throw Error(EINVAL, "invalid value --to=" + std::string(form));
}

Task<int> task_map(Handle* handle, const options::Parsed* parsed) {
    const auto& word = parsed->operands()[0];
    auto id = JobId::try_parse(word);
    Taskmap map;
    std::optional<Hostlist> hosts;
    if (id) {
        auto json = co_await task_map_of(handle, *id);
        map = Taskmap::from_json(json);
        if (parsed->has("hostname") || parsed->get("to") == "hosts") hosts = co_await hosts_of(handle, *id);
    } else {
        map = Taskmap::parse(word);
    }
    auto node_of = [&](const char* option) {
        auto node = map.node_of(number(*parsed, option));
        if (!node) throw Error(ENOENT, "no such task " + std::string(parsed->get(option)));
        return *node;
    };
    if (parsed->has("taskids")) {
        auto tasks = map.tasks_of(number(*parsed, "taskids"));
        if (tasks.empty()) throw Error(ENOENT, "No taskids for node " + std::string(parsed->get("taskids")));
        fmt::print("{}\n", tasks.encode());
    } else if (parsed->has("ntasks")) {
        fmt::print("{}\n", map.tasks_of(number(*parsed, "ntasks")).count());
    } else if (parsed->has("nodeid")) {
        fmt::print("{}\n", node_of("nodeid"));
    } else if (parsed->has("hostname")) {
        if (!hosts) throw Error(EINVAL, "hosts can only be told of a job");
        fmt::print("{}\n", hosts->at(node_of("hostname")));
    } else {
        print_task_map(map, parsed->get("to"), hosts ? &*hosts : nullptr);
    }
    co_return 0;
}

constexpr std::int64_t unlimited = 4294967295;

Task<double> expiration_of(Handle* handle, std::optional<JobId> id) {
    if (id) {
        auto text = co_await lookup(handle, *id, "R", current);
        co_return ResourceSet::parse(text).expiration;
    }
    auto leader = CallOptions().rank(0);
    auto answer = co_await handle->call(resource_protocol::status.topic, leader);
    co_return answer.json().find("R.execution.expiration").try_as<double>().value_or(0);
}

Task<int> time_left(Handle* handle, const options::Parsed* parsed, std::optional<JobId> id) {
    auto expiration = co_await expiration_of(handle, id);
    const bool human = parsed->has("human");
    if (expiration == 0) {
        fmt::print("{}\n", human ? std::string("infinity") : std::to_string(unlimited));
        co_return 0;
    }
    auto left = std::max(expiration - moment::parse("now"), 0.0);
    // Whoever asks divides by it, or compares it with 0.
    auto seconds = std::max<std::int64_t>(static_cast<std::int64_t>(left), 1);
    fmt::print("{}\n", human ? format_duration(left, 2) : std::to_string(seconds));
    co_return 0;
}

class HostpidsPlan {
public:
    HostpidsPlan() {}
    JobId id;
    std::string delimiter;
    std::optional<Idset> ranks;
};

Task<> print_hostpids(Handle* handle, const HostpidsPlan* plan, std::exception_ptr* failure) {
    try {
        std::string service;
        std::uint32_t leader = 0;
        bool started = false;
        {
            follow::EventWatch watch(*handle, plan->id, follow::exec_log, follow::wait_create);
            while (!started) {
                auto item = co_await watch.next();
                if (!item) throw Error(ENOENT, "the job has not started its tasks");
                const auto& event = item->event();
                if (event.name == "shell.init") {
                    service = event.context.get<std::string>("service");
                    leader = event.context.get<std::uint32_t>("leader-rank");
                }
                started = event.name == "shell.start";
            }
        }
        auto options = CallOptions().rank(leader);
        auto answer = co_await handle->call(service + ".proctable", Json::object(), options);
        std::string line;
        for (const auto& process : follow::decode_proctable(answer.json())) {
            if (plan->ranks && !plan->ranks->test(process.task)) continue;
            line += (line.empty() ? "" : plan->delimiter) + fmt::format("{}:{}", process.host, process.pid);
        }
        fmt::print("{}\n", line);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        *failure = std::make_exception_ptr(error);
    }
}

Task<int> hostpids(Context* context, HostpidsPlan plan, std::optional<std::chrono::nanoseconds> timeout) {
    std::exception_ptr failure;
    Scope scope(context->scope());
    Timer timer(context->loop(), [&] {
        failure = std::make_exception_ptr(Error(ETIMEDOUT, "hostpids: timed out waiting for the job's tasks"));
        scope.abort();
    });
    if (timeout) timer.start(*timeout);
    scope.spawn("hostpids", &print_hostpids, &context->handle(), &plan, &failure);
    co_await scope.drained();
    if (failure) std::rethrow_exception(failure);
    co_return 0;
}

} // namespace

int run_info(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    auto id = select::job_id(parsed, parsed.operands()[0]);
    return context.run(&info, &context.handle(), id, parsed.operands()[1], &parsed);
}

int run_taskmap(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    Handle* handle = JobId::try_parse(parsed.operands()[0]) ? &context.handle() : nullptr;
    return context.run(&task_map, handle, &parsed);
}

int run_timeleft(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    std::optional<JobId> id;
    if (!parsed.operands().empty())
        id = select::job_id(parsed, parsed.operands()[0]);
    else if (const char* own = std::getenv("FLUX_JOB_ID"))
        id = JobId::parse(own);
    return context.run(&time_left, &context.handle(), &parsed, id);
}

int run_hostpids(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    HostpidsPlan plan;
    plan.id = select::job_id(parsed, parsed.operands()[0]);
    plan.delimiter = parsed.get("delimiter", ",");
    if (auto ranks = parsed.find("ranks"); ranks && *ranks != "all") plan.ranks = Idset::parse(*ranks);
    return context.run(&hostpids, &context, plan, timeout_option(parsed));
}

} // namespace flux::cmd::job
