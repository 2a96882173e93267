// flux alloc: run an instance and be attached to it (cli.md 6.5).
#include "cmd/context.hpp"
#include "cmd/follow/attach.hpp"
#include "cmd/follow/event_watch.hpp"
#include "cmd/submission/instance.hpp"
#include "cmd/submission/options.hpp"
#include "cmd/submission/submit.hpp"
#include "cmd/uri/resolve.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace flux::cmd {
namespace {

class Plan {
public:
    Plan() {}
    Json jobspec;
    int urgency = 0;
    int flags = 0;
    unsigned verbosity = 0;
    follow::AttachOptions attach;
    std::exception_ptr failure;
};

Task<JobId> submit(Context* context, Plan* plan) {
    auto answer = co_await submission::submit(context->handle(), plan->jobspec, plan->urgency, plan->flags);
    co_return answer.json().get<JobId>("id");
}

Task<int> submit_and_attach(Context* context, Plan* plan) {
    auto id = co_await submit(context, plan);
    if (plan->verbosity > 0) fmt::print(stderr, "jobid: {}\n", id.f58());
    co_return co_await follow::attach(context, id, plan->attach);
}

// In the background ---------------------------------------------------------------------------------------------

void report(const Plan& plan, JobId id, double seconds, const char* what) {
    if (plan.verbosity > 0) fmt::print(stderr, "{}: {:6.3f}s: {}\n", id.f58(), seconds, what);
}

/// The URI of the new instance, once its leader has told it; empty when the job ended before.
Task<std::string> wait_for_uri(Handle* handle, const Plan* plan, JobId id) {
    follow::EventWatch watch(*handle, id, follow::main_log);
    double submitted = 0;
    while (auto item = co_await watch.next()) {
        const auto& event = item->event();
        if (event.name == "submit") submitted = event.timestamp;
        auto since = event.timestamp - submitted;
        if (event.name == "priority") report(*plan, id, since, "waiting for resources");
        if (event.name == "alloc") report(*plan, id, since, "resources allocated");
        if (event.name == "start") report(*plan, id, since, "waiting for instance");
        if (event.name == "memo" && event.context["uri"]) {
            report(*plan, id, since, "ready");
            co_return event.context.get<std::string>("uri");
        }
        if (event.name == "finish" || event.name == "clean") break;
    }
    co_return std::string();
}

/// Runs in a scope of its own, which Ctrl-C aborts.
Task<> wait_until_ready(Context* context, Plan* plan, JobId id, bool* ready) {
    try {
        auto uri = co_await wait_for_uri(&context->handle(), plan, id);
        if (uri.empty()) co_return;
        auto child = Handle::open(context->loop(), uri::to_local(uri));
        co_await child->call("state-machine.wait");
        *ready = true;
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        plan->failure = std::current_exception();
    }
}

Task<int> submit_in_background(Context* context, Plan* plan) {
    auto id = co_await submit(context, plan);
    bool ready = false, interrupted = false;
    {
        Scope scope(context->scope());
        SignalWatcher watcher(context->loop(), SIGINT, [&](int) {
            interrupted = true;
            scope.abort();
        });
        scope.spawn("background", &wait_until_ready, context, plan, id, &ready);
        co_await scope.drained();
    }
    if (interrupted) {
        auto request = Json::object("id", id, "type", "cancel", "severity", 0, "note", "interrupted by ctrl-C");
        co_await context->handle().call(job_manager_protocol::raise.topic, std::move(request));
        fmt::print(stderr, "flux-alloc: Interrupt: canceling job {}\n", id.f58());
        co_return 1;
    }
    if (plan->failure) std::rethrow_exception(plan->failure);
    if (!ready) {
        // Its output tells why.
        plan->attach.read_only = true;
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
        co_await follow::attach(context, id, plan->attach);
        throw Error(ECANCELED, fmt::format("Job {} ended before it was ready", id.f58()));
    }
    fmt::print("{}\n", id.f58());
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    const bool background = parsed.has("bg");
    std::vector<std::string> broker;
    if (background && parsed.operands().empty()) broker.push_back("-Sbroker.rc2_none=1");
    auto jobspec = submission::make_instance(parsed, parsed.operands(), broker);
    if (background)
        jobspec.set_shell_option("pty.capture", 1);
    else if (::isatty(STDIN_FILENO))
        jobspec.set_shell_option("pty.interactive", 1);
    Plan plan;
    plan.jobspec = jobspec.take();
    plan.urgency = submission::urgency(parsed);
    plan.flags = submission::submit_flags(parsed);
    plan.verbosity = parsed.count("verbose");
    plan.attach.label_io = parsed.has("label-io");
    plan.attach.show_events = plan.verbosity > 1;
    plan.attach.show_exec = plan.verbosity > 2;
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", plan.jobspec.dump());
        return 0;
    }
    return context.run(background ? &submit_in_background : &submit_and_attach, &context, &plan);
}

constexpr options::Option own_options[] = {
    {.name = "verbose", .key = 'v', .help = "Increase verbosity on stderr"},
    {.name = "bg", .help = "Wait until the new instance is ready and leave it in the background"},
};
constexpr auto alloc_options = options::join(submission::common_options, submission::instance_options, own_options);
static_assert(options::consistent(alloc_options));

} // namespace

extern const options::Command cmd_alloc;
const options::Command cmd_alloc{.name = "alloc",
                                 .program = "flux-alloc",
                                 .synopsis = "[OPTIONS...] [COMMAND...]",
                                 .help = "Start a new Flux instance and be attached to it",
                                 .options = alloc_options,
                                 .family = options::Family::submission,
                                 .run = &run};

} // namespace flux::cmd
