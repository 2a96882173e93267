// The scheduler's side of job-manager (RFC 27): who asks for resources, what is granted, what is given back. What jobs
// hold is in their eventlogs; a scheduler that starts over learns it from `sched-hello`.
#pragma once

#include "alloc_queue.hpp"
#include "core.hpp"

#include <flux/handle.hpp>

#include <string>
#include <unordered_map>

namespace flux::job_manager {

class Sched {
public:
    explicit Sched(Core& core);

    void hello(Request request);
    void ready(Request request);
    void query(Request request);
    void resource_status(Request request);
    void disconnect(const Request& request);

    /// What the job wants follows from its state.
    void on_settled(Job& job);
    /// Queues were started or stopped.
    void on_queues_changed();
    /// Requests can be made.
    bool online() const noexcept { return queue_.is_open(); }
    std::size_t outstanding() const noexcept { return queue_.outstanding(); }

private:
    void close(std::string_view why);
    void report(const Request& request);
    bool wants_resources(const Job& job) const;
    void update(Job& job);
    void pump();
    void request(const Job& job);
    void on_answer(const Message& message);
    void on_success(JobId id, JsonView answer);
    void on_deny(JobId id, JsonView answer);
    void on_cancelled(JobId id);
    bool outdated(const Job& job) const noexcept;
    void give_back(JobId id, Json R);

    Core& core_;
    AllocQueue queue_;
    std::string sender_;                       // who said hello; empty: nobody
    bool greeted_ = false;                     // knows what jobs hold, may be told what is free
    std::unordered_map<JobId, int> requested_; // changes of the jobspec at the time of the request
};

} // namespace flux::job_manager
