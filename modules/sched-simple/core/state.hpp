// All that the scheduler knows, and the one step that policies are made of.
#pragma once

#include "core/actions.hpp"
#include "core/pool.hpp"
#include "core/queue.hpp"

#include <map>

namespace flux::sched {

struct RunningJob {
    Allocation allocation;
    double end = 0; ///< seconds since the epoch, 0 = unknown
};
using RunningJobs = std::unordered_map<JobId, RunningJob>;

struct State {
    explicit State(ResourceSet resources) : pool(std::move(resources)) {}

    Pool pool;
    Queue queue;
    RunningJobs running;
    /// When the instance's own resources end; 0 = never.
    double expiration = 0;
    /// Grows whenever the future may have changed: something was freed, a node came or went, an end moved.
    std::uint64_t generation = 0;
};

/// Tries to start a pending job at `now`. On success it is running, `out` says so, with `sched` annotations `extra`
/// added (an object), and the job is no longer in the queue.
bool start(State& state, PendingJob& job, double now, Json extra, Actions& out);

/// Tells the job manager when a pending job may start (nothing: unknown), if that is news.
void estimate(PendingJob& job, std::optional<double> time, Actions& out);

} // namespace flux::sched
