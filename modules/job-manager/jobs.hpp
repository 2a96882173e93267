// The jobs that are not over, and those that others are about to ask for.
#pragma once

#include "job.hpp"

#include <array>
#include <map>
#include <memory>
#include <unordered_map>

namespace flux::job_manager {

class Jobs {
public:
    using Map = std::map<JobId, std::unique_ptr<Job>>;

    Job* find(JobId id) noexcept;
    Job& add(std::unique_ptr<Job> job);
    void remove(JobId id);
    const Map& all() const noexcept { return jobs_; }
    std::size_t size() const noexcept { return jobs_.size(); }

    /// Jobs in the states of a mask.
    std::size_t count(int mask) const noexcept;
    /// Told by the engine, which alone changes states.
    void moved(JobState from, JobState to) noexcept;

private:
    Map jobs_;
    std::array<std::size_t, 8> counts_{};
};

} // namespace flux::job_manager
