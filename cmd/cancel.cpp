// flux cancel: cancel jobs by id or by user and state (cli.md 6.7).
#include "cmd/context.hpp"
#include "cmd/select/select.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/job_state.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd {
namespace {

const char* plural(int count) { return count == 1 ? "" : "s"; }

Task<int> cancel_ids(Handle* handle, const options::Parsed* parsed, std::vector<JobId> ids) {
    std::vector<Call> calls;
    for (auto id : ids) {
        auto payload = Json::object("id", id, "type", "cancel", "severity", 0);
        if (auto note = parsed->find("message")) payload.set("note", *note);
        calls.push_back(handle->call(job_manager_protocol::raise.topic, std::move(payload)));
    }
    int code = 0;
    for (std::size_t index = 0; index < calls.size(); ++index) {
        try {
            co_await calls[index];
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            fmt::print(stderr, "{}", parsed->failure_line(ids[index].f58() + ": " + error.what()));
            code = 1;
        }
    }
    co_return code;
}

Task<int> cancel_all(Handle* handle, const options::Parsed* parsed) {
    const bool dry_run = parsed->has("dry-run");
    int states = select::state_mask(parsed->list("states"));
    if (!parsed->has("states")) states = job_states_pending | job_states_running;
    auto payload = Json::object("dry_run", dry_run, "userid", select::user_option(*parsed), "states", states,
                                "severity", 0, "type", "cancel");
    if (auto note = parsed->find("message")) payload.set("note", *note);
    auto answer = co_await handle->call(job_manager_protocol::raiseall.topic, std::move(payload));
    const int count = answer.json().get<int>("count"), errors = answer.json().get<int>("errors");
    if (count > 0 && dry_run)
        fmt::print(stderr, "flux-cancel: Would cancel {} job{}\n", count, plural(count));
    else if (count > 0 && errors > 0)
        fmt::print(stderr, "flux-cancel: Canceled {} job{} ({} error{})\n", count, plural(count), errors,
                   plural(errors));
    else if (count > 0)
        fmt::print(stderr, "flux-cancel: Canceled {} job{}\n", count, plural(count));
    else if (!parsed->has("quiet"))
        fmt::print(stderr, "flux-cancel: Matched 0 jobs\n");
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    const bool all = parsed.has("all") || parsed.has("user") || parsed.has("states");
    auto ids = select::job_ids(parsed);
    if (!all && ids.empty()) throw Error(EINVAL, "Target user, states or jobids must be specified");
    if (all && !ids.empty()) throw Error(EINVAL, "Do not specify a list of jobids with --all, --user or --states");
    if (all) return context.run(&cancel_all, &context.handle(), &parsed);
    if (parsed.has("dry-run")) {
        auto count = static_cast<int>(ids.size());
        fmt::print(stderr, "flux-cancel: Would cancel {} job{}\n", count, plural(count));
        return 0;
    }
    return context.run(&cancel_ids, &context.handle(), &parsed, std::move(ids));
}

using options::Value;
constexpr options::Option cancel_options[] = {
    {.name = "all", .help = "Target all jobs of a user"},
    {.name = "user", .key = 'u', .value = Value::required, .argument = "USER", .help = "Set target user"},
    {.name = "states",
     .key = 'S',
     .value = Value::required,
     .argument = "STATES",
     .help = "List of job states to target (default=active)"},
    {.name = "state", .value = Value::required, .argument = "STATES", .hidden = true, .same_as = "states"},
    {.name = "dry-run",
     .key = 'n',
     .help = "Do not cancel any jobs, but print a message indicating how many jobs would have been canceled"},
    {.name = "dry", .hidden = true, .same_as = "dry-run"},
    {.name = "quiet", .key = 'q', .help = "Do not print a message when no jobs match"},
    {.name = "message",
     .key = 'm',
     .value = Value::required,
     .argument = "NOTE",
     .help = "Set optional cancel exception note"},
};
static_assert(options::consistent(cancel_options));

} // namespace

extern const options::Command cmd_cancel;
const options::Command cmd_cancel{.name = "cancel",
                                  .program = "flux-cancel",
                                  .synopsis = "[OPTIONS] [JOBID...]",
                                  .help = "Cancel one or more jobs",
                                  .options = cancel_options,
                                  .family = options::Family::listing,
                                  .run = &run};

} // namespace flux::cmd
