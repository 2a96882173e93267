// What users do to jobs: exceptions, signals, urgency, memos, updates (jobs.md 5.1, 5.4).
#pragma once

#include "core.hpp"

#include <flux/handle.hpp>

namespace flux::job_manager {

class Control {
public:
    explicit Control(Core& core) : core_(core) {}

    void raise(Request request);
    void raiseall(Request request);
    void kill(Request request);
    void killall(Request request);
    void urgency(Request request);
    void memo(Request request);

private:
    /// Answer, when what was posted is durable.
    void respond(const Request& request, Json payload = {});
    void signal(JobId id, int signum);
    template <class F> void each_of(const Request& request, int states, F&& act);

    Core& core_;
};

/// Tell the execution service of an exception, as it is told.
void publish_exception(Handle& handle, const Job& job, const EventlogEntry& entry);

} // namespace flux::job_manager
