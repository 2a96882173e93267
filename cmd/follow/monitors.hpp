// Following many jobs at once: what `submit`, `bulksubmit` and `watch` have in common.
#pragma once

#include "cmd/follow/monitor.hpp"
#include "cmd/follow/progress.hpp"

#include <flux/error.hpp>

#include <functional>
#include <memory>

namespace flux::follow {

class Monitors {
public:
    /// \param report  tells the user of a job that cannot be followed.
    Monitors(Handle& handle, Scope& scope, std::function<void(const Error& error)> report)
        : handle_(handle), scope_(scope), report_(std::move(report)) {}

    /// Show how far the jobs are at the bottom of the terminal. Gone when all have ended.
    void show(std::unique_ptr<Progress> progress) { progress_ = std::move(progress); }
    void expect(std::size_t jobs) {
        if (progress_) progress_->expect(jobs);
    }
    void add(JobId id, MonitorOptions options);
    /// Wait for all. \returns the highest exit code
    Task<int> ended();

private:
    static Task<> follow(Monitors* self, JobId id, MonitorOptions options);

    Handle& handle_;
    Scope scope_;
    std::function<void(const Error& error)> report_;
    std::unique_ptr<Progress> progress_;
    int exit_code_ = 0;
};

} // namespace flux::follow
