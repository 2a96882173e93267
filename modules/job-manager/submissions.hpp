// Takes jobs from job-ingest (jobs.md 5.2). A job is accepted or was never there; one that is handed over twice is
// accepted once.
#pragma once

#include "core.hpp"

#include <flux/handle.hpp>

#include <functional>

namespace flux::job_manager {

class Submissions {
public:
    /// \param on_job  told of each job that was taken.
    Submissions(Core& core, std::function<void(Job&)> on_job) : core_(core), on_job_(std::move(on_job)) {}

    Task<> submit(Request request);
    void getinfo(Request request);
    /// Ids up to this may be of jobs that are over and not in memory.
    void set_known(JobId id) noexcept { known_ = id; }

private:
    Task<> look_up(const std::vector<std::unique_ptr<Job>>& jobs);
    void take(std::unique_ptr<Job> job, EventlogEntry submit, std::optional<std::string_view> J);

    Core& core_;
    std::function<void(Job&)> on_job_;
    JobId known_{0};
};

} // namespace flux::job_manager
