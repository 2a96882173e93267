// flux alloc: run an instance and be attached to it (cli.md 6.5).
#include "cmd/follow/event_watch.hpp"
#include "cmd/launch.hpp"
#include "cmd/submission/instance.hpp"
#include "cmd/submission/options.hpp"
#include "cmd/uri/resolve.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace flux::cmd {
namespace {

// In the background ---------------------------------------------------------------------------------------------

void report(const Launch& launch, JobId id, double seconds, const char* what) {
    if (launch.verbosity > 0) fmt::print(stderr, "{}: {:6.3f}s: {}\n", id.f58(), seconds, what);
}

/// The URI of the new instance, once its leader has told it; empty when the job ended before.
Task<std::string> wait_for_uri(Handle* handle, const Launch* launch, JobId id) {
    follow::EventWatch watch(*handle, id, follow::main_log);
    double submitted = 0;
    while (auto item = co_await watch.next()) {
        const auto& event = item->event();
        if (event.name == "submit") submitted = event.timestamp;
        auto since = event.timestamp - submitted;
        if (event.name == "priority") report(*launch, id, since, "waiting for resources");
        if (event.name == "alloc") report(*launch, id, since, "resources allocated");
        if (event.name == "start") report(*launch, id, since, "waiting for instance");
        if (event.name == "memo" && event.context["uri"]) {
            report(*launch, id, since, "ready");
            co_return event.context.get<std::string>("uri");
        }
        if (event.name == "finish" || event.name == "clean") break;
    }
    co_return std::string();
}

/// What became of waiting for an instance.
class Readiness {
public:
    Readiness() {}
    bool ready = false;
    std::exception_ptr failure;
};

/// Runs in a scope of its own, which Ctrl-C aborts.
Task<> wait_until_ready(Context* context, const Launch* launch, JobId id, Readiness* result) {
    try {
        auto uri = co_await wait_for_uri(&context->handle(), launch, id);
        if (uri.empty()) co_return;
        auto child = Handle::open(context->loop(), uri::to_local(uri));
        co_await child->call("state-machine.wait");
        result->ready = true;
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        result->failure = std::current_exception();
    }
}

Task<int> submit_in_background(Context* context, const Launch* launch) {
    auto id = co_await submit(context, launch);
    Readiness result;
    bool interrupted = false;
    {
        Scope scope(context->scope());
        SignalWatcher watcher(context->loop(), SIGINT, [&](int) {
            interrupted = true;
            scope.abort();
        });
        scope.spawn("background", &wait_until_ready, context, launch, id, &result);
        co_await scope.drained();
    }
    if (interrupted) {
        auto request = Json::object("id", id, "type", "cancel", "severity", 0, "note", "interrupted by ctrl-C");
        co_await context->handle().call(job_manager_protocol::raise.topic, std::move(request));
        fmt::print(stderr, "flux-alloc: Interrupt: canceling job {}\n", id.f58());
        co_return 1;
    }
    if (result.failure) std::rethrow_exception(result.failure);
    if (!result.ready) {
        // Its output tells why.
        auto options = launch->attach;
        options.read_only = true;
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
        co_await follow::attach(context, id, options);
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
    Launch launch(jobspec.take(), parsed);
    if (parsed.has("dry-run")) {
        fmt::print("{}\n", launch.jobspec.dump());
        return 0;
    }
    return context.run(background ? &submit_in_background : &submit_and_attach, &context, &launch);
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
