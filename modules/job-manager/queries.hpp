// What is asked about the jobs as they are: list, getattr, drain, idle (jobs.md 5.1).
#pragma once

#include "core.hpp"
#include "sched.hpp"

#include <flux/handle.hpp>

namespace flux::job_manager {

class Queries {
public:
    Queries(Core& core, Sched& sched) : core_(core), sched_(sched) {}

    void list(Request request);
    Task<> getattr(Request request);
    void drain(Request request);
    void idle(Request request);
    void disconnect(const Request& request);
    /// Answer those who wait for a quiet time, if it is one.
    void on_change();

private:
    bool drained() const noexcept { return core_.jobs.count(job_states_active) == 0; }
    bool quiet() const noexcept;

    Core& core_;
    Sched& sched_;
    RequestList<int> drains_;
    RequestList<int> idles_;
};

} // namespace flux::job_manager
