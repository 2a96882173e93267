// Signals of an attached command: Ctrl-C twice cancels the job, Ctrl-C and Ctrl-Z leave it, others are passed on.
#pragma once

#include "cmd/context.hpp"

#include <flux/job_id.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace flux::follow {

class Interrupts {
public:
    /// \param enabled    otherwise signals do what they do anyway.
    /// \param on_detach  the user leaves: the job goes on alone.
    Interrupts(cmd::Context& context, JobId id, bool enabled, std::function<void()> on_detach);

    bool detached() const noexcept { return detached_; }

private:
    void watch(int signum, void (Interrupts::*action)(int));
    void interrupt(int);
    void detach();
    void pass_on(int signum);
    void terminate(int);
    Call kill(int signum);
    void cancel(std::string_view note);

    Loop& loop_;
    Handle& handle_;
    JobId id_;
    std::function<void()> on_detach_;
    std::vector<std::unique_ptr<SignalWatcher>> watchers_;
    std::unique_ptr<SignalWatcher> suspend_watcher_;
    std::unique_ptr<Timer> second_chance_; // runs after the first Ctrl-C
    bool detached_ = false;
    bool terminated_ = false;
};

} // namespace flux::follow
