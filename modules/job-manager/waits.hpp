// `wait`: the owner collects results of jobs that were submitted as waitable, each once (jobs.md 5.5). A result that
// nobody has fetched is durable: the job's mark stays until then.
#pragma once

#include "core.hpp"

#include <flux/handle.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

namespace flux::job_manager {

class Waits {
public:
    /// \param on_collected  told of a job that nobody will ask for any more.
    Waits(Core& core, std::function<void(Job&)> on_collected) : core_(core), on_collected_(std::move(on_collected)) {}

    void wait(Request request);
    void disconnect(const Request& request);
    /// A waitable job was submitted, or found at start.
    void on_job(const Job& job);
    /// The end of a waitable job is durable.
    void on_ended(Job& job);

    std::optional<Json> park(const Request& request);
    void resume(Request request, JsonView cursor);

private:
    void collect(Job& job, Request request);

    Core& core_;
    std::function<void(Job&)> on_collected_;
    std::size_t open_ = 0;                     // waitable jobs that are not over
    std::set<std::pair<double, JobId>> ended_; // waitable jobs that are, by the time of their end
    std::unordered_map<JobId, Request> for_job_;
    std::deque<Request> for_any_;
    // Results fetched, answered when that is durable.
    struct Collecting {
        Request request;
        std::shared_ptr<Json> result;
    };
    std::deque<Collecting> collecting_;
};

} // namespace flux::job_manager
