// How many jobs are in which state, and how they have ended: for all, and for each queue.
#pragma once

#include "job.hpp"

#include <map>
#include <string>

namespace flux::job_list {

class Counts {
public:
    /// A job is there, or (`by` = -1) not any more as it was.
    void add(const Job& job, int by);
    /// An inactive job, taken away before, was purged.
    void purged(const Job& job);
    Json to_json() const;

    std::int64_t in(int states) const noexcept;

private:
    static constexpr int state_count = 7;
    struct Numbers {
        std::int64_t states[state_count] = {};
        std::int64_t successful = 0, failed = 0, canceled = 0, timeout = 0, purged = 0;
        void add(const Job& job, int by) noexcept;
        void add_ended(const Job& job, int by) noexcept;
        void write(const JsonRef& out) const;
    };
    Numbers all_;
    std::map<std::string, Numbers, std::less<>> queues_;
};

} // namespace flux::job_list
