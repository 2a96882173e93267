// flux queue: see and change what queues accept and start (cli.md 6.13).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/queue_list.hpp"

#include <flux/duration.hpp>
#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

namespace jobs = job_manager_protocol;

enum Aspect { submission = 1, scheduling = 2 };

/// Print how queues stand: one, or every one there is.
class Status {
public:
    Status() {}
    std::string queue;
    int aspects = submission | scheduling;
    bool verbose = false;
};

void print_lines(const std::string& prefix, JsonView status, int aspects) {
    if (aspects & submission) {
        if (status.get<bool>("enable"))
            fmt::print("{}Job submission is enabled\n", prefix);
        else
            fmt::print("{}Job submission is disabled: {}\n", prefix, status.get_or("disable_reason", std::string()));
    }
    if (aspects & scheduling) {
        auto reason = status.get_optional<std::string>("stop_reason");
        if (status.get<bool>("start"))
            fmt::print("{}Scheduling is started\n", prefix);
        else
            fmt::print("{}Scheduling is stopped{}\n", prefix, reason ? ": " + *reason : "");
    }
}

Task<int> print_status(Handle* handle, Status want) {
    auto listed = co_await handle->call(jobs::queue_list.topic);
    auto names = listed.json().get<std::vector<std::string>>("queues");
    if (!want.queue.empty()) names.assign(1, want.queue);
    const auto leader = CallOptions().rank(0);
    if (names.empty()) {
        auto status = co_await handle->call(jobs::queue_status.topic, Json::object(), leader);
        print_lines("", status.json(), want.aspects);
    }
    std::vector<Call> calls;
    for (const auto& name : names)
        calls.push_back(handle->call(jobs::queue_status.topic, Json::object("name", name), leader));
    for (std::size_t index = 0; index < names.size(); ++index) {
        auto status = co_await calls[index];
        print_lines(names[index] + ": ", status.json(), want.aspects);
    }
    if (want.verbose) {
        auto answer = co_await handle->call(jobs::alloc_query.topic);
        auto counts = answer.json();
        fmt::print("{} alloc requests queued\n{} alloc requests pending to scheduler\n{} running jobs\n",
                   counts.get<int>("queue_length"), counts.get<int>("alloc_pending"), counts.get<int>("running"));
    }
    co_return 0;
}

/// The queue named by the operand, or by -q as it used to be.
std::string queue_name(const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.size() > 1) throw parsed.usage_error("unrecognized arguments: " + words[1]);
    auto old = parsed.find("queue");
    if (old && !words.empty() && words[0] != *old)
        throw Error(EINVAL, "--queue and the QUEUE argument name different queues");
    if (!words.empty()) return words[0];
    return std::string(old.value_or(""));
}

int run_status(Context& context, const options::Parsed& parsed) {
    Status want;
    want.queue = queue_name(parsed);
    want.verbose = parsed.has("verbose");
    return context.run(&print_status, &context.handle(), want);
}

class Change {
public:
    Change() {}
    std::string_view topic;
    Json payload;
    const char* what = "";
    std::string named_queues_error;
    Status status;
    bool quiet = false;
};

Task<int> change(Handle* handle, Change* change) {
    if (change->status.queue.empty() && !change->payload.get<bool>("all")) {
        auto listed = co_await handle->call(jobs::queue_list.topic);
        if (!listed.json()["queues"].empty()) throw Error(EINVAL, change->named_queues_error);
    }
    try {
        auto leader = CallOptions().rank(0);
        co_await handle->call(change->topic, std::move(change->payload), leader);
    } catch (const Error& error) {
        throw error.while_doing(change->what);
    }
    if (change->quiet) co_return 0;
    co_return co_await print_status(handle, change->status);
}

int run_change(Context& context, const options::Parsed& parsed, Aspect aspect, const char* key, bool on,
               std::optional<std::string_view> reason) {
    Change plan;
    plan.status.queue = queue_name(parsed);
    plan.status.aspects = aspect;
    plan.status.verbose = parsed.has("verbose");
    plan.quiet = parsed.has("quiet");
    plan.payload = Json::object(key, on, "all", parsed.has("all"));
    if (!plan.status.queue.empty()) plan.payload.set("name", plan.status.queue);
    if (reason) plan.payload.set("reason", *reason);
    if (aspect == submission) {
        plan.topic = jobs::queue_enable.topic;
        plan.what = "enable";
        plan.named_queues_error = "Use --all to apply this command to all queues";
    } else {
        plan.topic = jobs::queue_start.topic;
        plan.what = "start";
        plan.named_queues_error = "Named queues are defined. Specify queues or use --all.";
        plan.payload.set("nocheckpoint", !on && parsed.has("nocheckpoint"));
    }
    return context.run(&change, &context.handle(), &plan);
}

int run_enable(Context& context, const options::Parsed& parsed) {
    return run_change(context, parsed, submission, "enable", true, std::nullopt);
}

int run_disable(Context& context, const options::Parsed& parsed) {
    return run_change(context, parsed, submission, "enable", false, parsed.get("message", "disabled by administrator"));
}

int run_start(Context& context, const options::Parsed& parsed) {
    return run_change(context, parsed, scheduling, "start", true, std::nullopt);
}

int run_stop(Context& context, const options::Parsed& parsed) {
    return run_change(context, parsed, scheduling, "start", false, parsed.find("message"));
}

CallOptions with_timeout(const options::Parsed& parsed) {
    CallOptions options;
    if (auto timeout = parsed.find("timeout"))
        options.deadline(std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double>(parse_duration(*timeout))));
    return options;
}

Task<int> wait_until(Handle* handle, const options::Parsed* parsed, std::string_view topic, const char* what) {
    auto options = with_timeout(*parsed);
    try {
        auto answer = co_await handle->call(topic, options);
        if (!answer.json()) co_return 0;
        auto pending = answer.json().get<int>("pending");
        if (pending > 0 || !parsed->has("quiet")) fmt::print("{} jobs\n", pending);
    } catch (const Error& error) {
        if (error.errnum() == ETIMEDOUT) throw Error(ETIMEDOUT, fmt::format("{}: timeout", what));
        throw error.while_doing(what);
    }
    co_return 0;
}

int run_drain(Context& context, const options::Parsed& parsed) {
    return context.run(&wait_until, &context.handle(), &parsed, jobs::drain.topic, "drain");
}

int run_idle(Context& context, const options::Parsed& parsed) {
    return context.run(&wait_until, &context.handle(), &parsed, jobs::idle.topic, "idle");
}

using options::Value;
constexpr options::Option queue_option[] = {
    {.name = "queue",
     .key = 'q',
     .value = Value::required,
     .argument = "NAME",
     .help = "Specify queue",
     .hidden = true},
};
constexpr options::Option verbose_option[] = {
    {.name = "verbose", .key = 'v', .help = "Display more detail about internal job manager state"},
};
constexpr options::Option change_only[] = {
    {.name = "all", .key = 'a', .help = "Force command to apply to all queues if none specified"},
    {.name = "quiet", .help = "Display only errors"},
};
constexpr options::Option stop_only[] = {
    {.name = "message",
     .key = 'm',
     .value = Value::required,
     .argument = "REASON",
     .help = "Add reason that is displayed to users"},
    {.name = "nocheckpoint", .help = "Do not remember it across a restart"},
};
constexpr options::Option timeout_option[] = {
    {.name = "timeout", .key = 't', .value = Value::required, .argument = "DURATION", .help = "timeout"},
};
constexpr options::Option idle_only[] = {
    {.name = "quiet", .help = "Only display pending job count if nonzero"},
};
constexpr options::Option drain_only[] = {
    {.name = "quiet", .help = "Display only errors", .hidden = true},
};
constexpr auto status_options = options::join(queue_option, verbose_option);
constexpr auto change_options = options::join(queue_option, verbose_option, change_only);
constexpr auto stop_options = options::join(queue_option, verbose_option, change_only, stop_only);
constexpr auto idle_options = options::join(timeout_option, idle_only);
constexpr auto drain_options = options::join(timeout_option, drain_only);
static_assert(options::consistent(stop_options));

constexpr options::Command subcommands[] = {
    {.name = "status",
     .synopsis = "[OPTIONS] [QUEUE]",
     .help = "Display queue status",
     .options = status_options,
     .run = &run_status},
    {.name = "list",
     .synopsis = "[OPTIONS]",
     .help = "List queues with their limits and resources",
     .options = queue_list_options,
     .run = &run_queue_list},
    {.name = "enable",
     .synopsis = "[OPTIONS] [QUEUE]",
     .help = "Enable job submission",
     .options = change_options,
     .run = &run_enable},
    {.name = "disable",
     .synopsis = "[OPTIONS] [QUEUE]",
     .help = "Disable job submission",
     .options = stop_options,
     .run = &run_disable},
    {.name = "start",
     .synopsis = "[OPTIONS] [QUEUE]",
     .help = "Start scheduling",
     .options = change_options,
     .run = &run_start},
    {.name = "stop",
     .synopsis = "[OPTIONS] [QUEUE]",
     .help = "Stop scheduling",
     .options = stop_options,
     .run = &run_stop},
    {.name = "drain",
     .synopsis = "[OPTIONS]",
     .help = "Wait for queue to become empty",
     .options = drain_options,
     .run = &run_drain},
    {.name = "idle",
     .synopsis = "[OPTIONS]",
     .help = "Wait for running jobs to end",
     .options = idle_options,
     .run = &run_idle},
};

} // namespace

extern const options::Command cmd_queue;
const options::Command cmd_queue{.name = "queue",
                                 .program = "flux-queue",
                                 .synopsis = "COMMAND [OPTIONS]",
                                 .help = "List and manipulate queues",
                                 .subcommands = subcommands,
                                 .family = options::Family::listing};

} // namespace flux::cmd
