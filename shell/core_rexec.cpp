// Processes that `flux exec --jobid` starts beside the tasks. They end with the job.
#include "core.hpp"

#include <flux/duration.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

namespace flux::shell {
namespace {

/// They have this long after SIGTERM.
constexpr double default_shutdown_timeout = 60;

double shutdown_timeout(JsonView option) {
    if (!option) return default_shutdown_timeout;
    auto text = option.try_as<std::string>();
    return text ? parse_duration(*text) : option.as<double>();
}

} // namespace

void Core::offer_rexec() {
    RexecServerOptions options;
    options.service = job_.service + ".rexec";
    options.roles = role_user;
    options.rank = job_.self().broker_rank;
    if (const char* uri = std::getenv("FLUX_URI")) options.local_uri = uri;
    options.authorize = [this](const Request& request) {
        if (!may_call(request)) throw Error(EPERM, "Access denied");
    };
    options.log = [this](LogLevel, const std::string& text) { log(Level::debug, "rexec", text); };
    rexec_ = std::make_unique<RexecServer>(*handle_, std::move(options));
    rexec_->serve();
}

Task<> Core::end_rexec() {
    if (!rexec_) co_return;
    rexec_->refuse();
    if (rexec_->process_count() == 0) co_return;
    rexec_->signal_all(SIGTERM);
    Timer limit(loop_, [this] {
        if (rexec_) rexec_->signal_all(SIGKILL);
    });
    limit.start(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(shutdown_timeout(option("rexec-shutdown-timeout")))));
    rexec_->when_empty([this] { changed_.notify_all(); });
    while (rexec_ && rexec_->process_count() > 0) co_await changed_.wait();
}

} // namespace flux::shell
