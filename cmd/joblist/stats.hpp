// How many jobs there are in each state, as job-list counts them.
#pragma once

#include <flux/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace flux::joblist {

class Stats {
public:
    Stats() {}
    /// \param answer  of `job-list.job-stats`.
    /// \param queues  count only these; none: all.
    /// \throws Error ENOENT for a queue without statistics.
    explicit Stats(JsonView answer, const std::vector<std::string>& queues = {});

    std::int64_t active() const noexcept { return pending + running; }
    /// `1 running, 2 completed, 0 failed, 0 pending`
    std::string line() const;
    /// `PD:0 R:1 CD:2 F:0`
    std::string brief() const;

    std::int64_t pending = 0;
    std::int64_t running = 0;
    std::int64_t completed = 0;
    std::int64_t failed = 0; ///< with those that were cancelled or timed out
    std::int64_t inactive = 0;
    std::int64_t total = 0;
    std::int64_t purged = 0;
};

} // namespace flux::joblist
