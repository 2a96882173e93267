#include "cmd/follow/interrupts.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

#include <csignal>

namespace flux::follow {
namespace {

constexpr auto second_chance_time = std::chrono::seconds(2);

void report_failure(const char* what, const Message& answer) {
    if (answer.errnum()) fmt::print(stderr, "flux-job: {}: {}\n", what, answer.error_text());
}

} // namespace

Interrupts::Interrupts(cmd::Context& context, JobId id, bool enabled, std::function<void()> on_detach)
    : loop_(context.loop()), handle_(context.handle()), id_(id), on_detach_(std::move(on_detach)) {
    if (!enabled) return;
    watch(SIGINT, &Interrupts::interrupt);
    watch(SIGTERM, &Interrupts::terminate);
    for (int signum : {SIGHUP, SIGALRM, SIGUSR1, SIGUSR2}) watch(signum, &Interrupts::pass_on);
}

void Interrupts::watch(int signum, void (Interrupts::*action)(int)) {
    watchers_.push_back(
        std::make_unique<SignalWatcher>(loop_, signum, [this, action](int which) { (this->*action)(which); }));
}

void Interrupts::interrupt(int) {
    if (second_chance_ && second_chance_->active()) {
        cancel("interrupted by ctrl-C");
        second_chance_->stop();
        suspend_watcher_.reset();
        return;
    }
    fmt::print(stderr, "flux-job: one more ctrl-C within 2s to cancel or ctrl-Z to detach\n");
    suspend_watcher_ = std::make_unique<SignalWatcher>(loop_, SIGTSTP, [this](int) { detach(); });
    second_chance_ = std::make_unique<Timer>(loop_, [this] { suspend_watcher_.reset(); });
    second_chance_->start(second_chance_time);
}

// The job's tasks are asked to end; a job without tasks is cancelled; who asks again does not want to wait for it.
void Interrupts::terminate(int) {
    if (std::exchange(terminated_, true)) return detach();
    kill(SIGTERM).then([this](const Message& answer) {
        if (answer.errnum()) cancel("terminated");
    });
}

void Interrupts::cancel(std::string_view note) {
    auto payload = Json::object("id", id_, "type", "cancel", "severity", 0, "note", note);
    handle_.call(job_manager_protocol::raise.topic, std::move(payload)).then([](const Message& answer) {
        report_failure("cancel", answer);
    });
}

void Interrupts::detach() {
    detached_ = true;
    on_detach_();
}

Call Interrupts::kill(int signum) {
    return handle_.call(job_manager_protocol::kill.topic, Json::object("id", id_, "signum", signum));
}

void Interrupts::pass_on(int signum) {
    kill(signum).then([](const Message& answer) { report_failure("kill", answer); });
}

} // namespace flux::follow
