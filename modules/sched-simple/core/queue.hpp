// Pending jobs: by priority, then by id; and grouped by request, because equal requests share their fate.
#pragma once

#include "core/node_set.hpp"
#include "core/request.hpp"

#include <flux/job_id.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

namespace flux::sched {

/// Place in the queue: higher priority first, then the older job.
struct Place {
    std::uint32_t priority = 0;
    JobId id;
    bool operator<(const Place& other) const noexcept {
        return priority != other.priority ? priority > other.priority : id < other.id;
    }
};

/// All pending jobs that ask the same.
struct Shape {
    Request request;
    std::shared_ptr<const NodeSet> admitted; ///< null: every node
    std::set<Place> jobs;

    const NodeSet* mask() const noexcept { return admitted.get(); }
};

struct PendingJob {
    Place place;
    Shape* shape = nullptr;
    /// The annotations that the job manager has of this job.
    std::optional<double> t_estimate;
    std::optional<std::size_t> jobs_ahead;
};

class Queue {
public:
    bool empty() const noexcept { return order_.empty(); }
    std::size_t size() const noexcept { return order_.size(); }
    bool contains(JobId id) const noexcept { return jobs_.contains(id); }

    void insert(JobId id, std::uint32_t priority, const Request& request, std::shared_ptr<const NodeSet> admitted);
    /// False when the job is not pending.
    bool erase(JobId id);
    bool reprioritize(JobId id, std::uint32_t priority);

    /// The queue must not be empty.
    PendingJob& head() { return jobs_.at(order_.begin()->id); }
    PendingJob& job(JobId id) { return jobs_.at(id); }
    const std::set<Place>& order() const noexcept { return order_; }
    /// Shapes that have jobs.
    std::map<Request, Shape>& shapes() noexcept { return shapes_; }

private:
    std::set<Place> order_;
    std::unordered_map<JobId, PendingJob> jobs_;
    std::map<Request, Shape> shapes_;
};

} // namespace flux::sched
