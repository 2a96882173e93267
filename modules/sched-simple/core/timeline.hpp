// The future as far as it is known: a copy of the pool in which running jobs end when they should.
#pragma once

#include "core/state.hpp"

#include <deque>
#include <queue>

namespace flux::sched {

class Timeline {
public:
    Timeline(const State& state, double now);

    /// Moves on to the earliest moment at which the request fits, and takes its resources there, for its duration or
    /// for good. Nothing when it never fits as far as is known; time then has come to its end.
    std::optional<double> next_start(const Request& request, const NodeSet* mask);

private:
    struct End {
        double time;
        const Allocation* allocation;
        bool operator>(const End& other) const noexcept { return time > other.time; }
    };

    Pool pool_;
    double now_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::deque<Allocation> simulated_; // stable addresses for ends_
};

} // namespace flux::sched
