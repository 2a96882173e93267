// flux job eventlog, flux job wait-event
#include "cmd/event_options.hpp"
#include "cmd/follow/event_watch.hpp"
#include "cmd/job/commands.hpp"
#include "cmd/select/select.hpp"

#include <fmt/core.h>

#include <cerrno>

namespace flux::cmd::job {
namespace {

/// Short names of logs stand for their keys.
std::string log_path(const options::Parsed& parsed) {
    auto name = parsed.get("path", "eventlog");
    if (name == "exec") return std::string(follow::exec_log);
    if (name == "output") return std::string(follow::output_log);
    if (name == "input") return std::string(follow::input_log);
    return std::string(name);
}

class Plan {
public:
    explicit Plan(const options::Parsed& parsed)
        : id(select::job_id(parsed, parsed.operands()[0])), path(log_path(parsed)), printer(parsed) {}
    JobId id;
    std::string path;
    EventPrinter printer;
    std::optional<EventMatch> match;
    std::optional<std::chrono::nanoseconds> timeout;
    bool quiet = false;
    bool verbose = false;
    int flags = 0;
};

Error not_found(const Plan& plan, const Error& error) {
    if (error.errnum() != ENOENT) return error;
    return Error(ENOENT, "job " + plan.id.f58() + " id or event log not found");
}

Task<int> print_log(Handle* handle, Plan* plan) {
    try {
        auto payload = Json::object("id", plan->id, "keys", Json::array_of(plan->path), "flags", 0);
        auto answer = co_await handle->call(job_info_protocol::lookup.topic, std::move(payload));
        for (const auto& event : decode_eventlog(answer.json().get<std::string_view>(plan->path)))
            plan->printer.print(event);
    } catch (const Error& error) {
        throw not_found(*plan, error);
    }
    co_return 0;
}

Task<int> follow_log(Handle* handle, Plan* plan) {
    try {
        follow::EventWatch watch(*handle, plan->id, plan->path);
        while (auto item = co_await watch.next()) plan->printer.print(item->event());
    } catch (const Error& error) {
        throw not_found(*plan, error);
    }
    co_return 0;
}

/// Runs in a scope of its own, which a time-out aborts.
Task<> find_event(Handle* handle, Plan* plan, bool* found, std::exception_ptr* failure) {
    try {
        follow::EventWatch watch(*handle, plan->id, plan->path, plan->flags);
        while (!*found) {
            auto item = co_await watch.next();
            if (!item) break;
            *found = plan->match->completed_by(item->event());
            if (plan->verbose || (*found && !plan->quiet)) plan->printer.print(item->event());
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        *failure = std::make_exception_ptr(not_found(*plan, error));
    }
}

Task<int> wait_for_event(Context* context, Plan* plan) {
    bool found = false;
    bool timed_out = false;
    std::exception_ptr failure;
    Scope search(context->scope());
    Timer timer(context->loop(), [&] {
        timed_out = true;
        search.abort();
    });
    if (plan->timeout) timer.start(*plan->timeout);
    search.spawn("wait-event", &find_event, &context->handle(), plan, &found, &failure);
    co_await search.drained();
    if (failure) std::rethrow_exception(failure);
    if (timed_out) throw Error(ETIMEDOUT, "wait-event timeout on event '" + plan->match->name() + "'");
    if (!found) throw Error(ENODATA, "event '" + plan->match->name() + "' never received");
    co_return 0;
}

} // namespace

int run_eventlog(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    Plan plan(parsed);
    if (parsed.has("follow")) return context.run(&follow_log, &context.handle(), &plan);
    return context.run(&print_log, &context.handle(), &plan);
}

int run_wait_event(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    Plan plan(parsed);
    plan.match.emplace(parsed, parsed.operands()[1]);
    plan.timeout = timeout_option(parsed);
    plan.quiet = parsed.has("quiet");
    plan.verbose = parsed.has("verbose");
    if (parsed.has("waitcreate")) plan.flags = follow::wait_create;
    return context.run(&wait_for_event, &context, &plan);
}

} // namespace flux::cmd::job
