// flux update: change a job that is queued or runs (cli.md 6.10).
#include "cmd/context.hpp"
#include "cmd/follow/event_watch.hpp"
#include "cmd/select/select.hpp"

#include <flux/duration.hpp>
#include <flux/job_info_protocol.hpp>
#include <flux/job_manager_protocol.hpp>
#include <flux/jobspec.hpp>
#include <flux/jobspec_builder.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cmath>

namespace flux::cmd {
namespace {

constexpr std::string_view duration_path = "attributes.system.duration";

std::string path_of(std::string_view key) {
    if (key == "name") return "attributes.system.job.name";
    for (std::string_view prefix : {"attributes.", "resources.", "tasks."})
        if (key.starts_with(prefix)) return std::string(key);
    return "attributes.system." + std::string(key);
}

double absolute_duration(std::string_view text) {
    auto seconds = parse_duration(text);
    return std::isinf(seconds) ? 0 : seconds; // 0: no limit
}

Task<double> relative_duration(Handle* handle, JobId id, std::string text) {
    auto request = Json::object("id", id, "keys", Json::array_of("jobspec"), "flags", int{job_info_protocol::current});
    auto answer = co_await handle->call(job_info_protocol::lookup.topic, std::move(request));
    auto jobspec = Json::parse(answer.json().get<std::string_view>("jobspec"), "jobspec");
    auto now = JobspecView(jobspec).duration();
    if (now == 0) throw Error(EINVAL, "can't update duration by a relative amount: it is unlimited");
    auto change = parse_duration(std::string_view(text).substr(1));
    auto result = text[0] == '+' ? now + change : now - change;
    if (result <= 0) throw Error(EINVAL, "updated duration must be a positive number");
    co_return result;
}

Task<Json> updates_of(Handle* handle, JobId id, const options::Parsed* parsed) {
    auto updates = Json::object();
    const auto& words = parsed->operands();
    for (std::size_t index = 1; index < words.size(); ++index) {
        auto equals = words[index].find('=');
        if (equals == std::string::npos || equals == 0)
            throw Error(EINVAL, "'" + words[index] + "' is not of the form KEY=VALUE");
        auto path = path_of(words[index].substr(0, equals));
        auto text = words[index].substr(equals + 1);
        if (path != duration_path) {
            updates.set(path, parse_setting(words[index]).second);
        } else if (text.starts_with('+') || text.starts_with('-')) {
            auto seconds = co_await relative_duration(handle, id, text);
            updates.set(path, seconds);
        } else {
            updates.set(path, absolute_duration(text));
        }
    }
    co_return std::move(updates);
}

/// Wait for an event that has all of these updates.
Task<> wait_for(follow::EventWatch* watch, JsonView updates) {
    while (auto item = co_await watch->next()) {
        const auto& event = item->event();
        if (event.name != "jobspec-update") continue;
        bool all = true;
        for (auto [path, value] : updates.members()) all = all && event.context[path].equals(value);
        if (all) co_return;
    }
    throw Error(ENODATA, "the job ended before it was updated");
}

Task<int> update(Handle* handle, const options::Parsed* parsed) {
    auto id = select::job_id(*parsed, parsed->operands()[0]);
    auto updates = co_await updates_of(handle, id, parsed);
    if (parsed->has("dry-run")) {
        fmt::print("{}\n", updates.dump());
        co_return 0;
    }
    std::optional<follow::EventWatch> watch;
    if (parsed->has("wait")) watch.emplace(*handle, id, follow::main_log);
    auto request = Json::object("id", id, "updates", updates.copy());
    co_await handle->call(job_manager_protocol::update.topic, std::move(request));
    if (watch) co_await wait_for(&*watch, updates);
    if (parsed->has("verbose"))
        for (auto [path, value] : updates.members())
            fmt::print(stderr, "flux-update: INFO: updated {} to {}\n", path, value.dump());
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() < 2)
        throw parsed.usage_error("the following arguments are required: JOBID, KEY=VALUE");
    return context.run(&update, &context.handle(), &parsed);
}

constexpr options::Option update_options[] = {
    {.name = "dry-run", .key = 'n', .help = "Do not apply any updates, just emit update payload to stdout"},
    {.name = "dry", .hidden = true, .same_as = "dry-run"},
    {.name = "verbose", .key = 'v', .help = "Be more verbose"},
    {.name = "wait", .help = "Wait until the update is in the job's eventlog"},
};
static_assert(options::consistent(update_options));

} // namespace

extern const options::Command cmd_update;
const options::Command cmd_update{.name = "update",
                                  .program = "flux-update",
                                  .synopsis = "[OPTIONS] JOBID KEY=VALUE...",
                                  .help = "Update attributes of queued jobs",
                                  .options = update_options,
                                  .family = options::Family::listing,
                                  .run = &run};

} // namespace flux::cmd
