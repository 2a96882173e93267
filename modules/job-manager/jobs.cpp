#include "jobs.hpp"

#include <bit>

namespace flux::job_manager {

namespace {

std::size_t slot(JobState state) noexcept { return std::bit_width(static_cast<unsigned>(state)); }

} // namespace

Job* Jobs::find(JobId id) noexcept {
    auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : found->second.get();
}

Job& Jobs::add(std::unique_ptr<Job> job) {
    auto& added = *job;
    ++counts_[slot(added.state)];
    jobs_[added.id] = std::move(job);
    return added;
}

void Jobs::remove(JobId id) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    --counts_[slot(found->second->state)];
    jobs_.erase(found);
}

std::size_t Jobs::count(int mask) const noexcept {
    std::size_t sum = 0;
    for (int state = 1; state <= static_cast<int>(JobState::inactive); state <<= 1) {
        if (mask & state) sum += counts_[slot(JobState{state})];
    }
    return sum;
}

void Jobs::moved(JobState from, JobState to) noexcept {
    --counts_[slot(from)];
    ++counts_[slot(to)];
}

} // namespace flux::job_manager
