#include "core/queue.hpp"

namespace flux::sched {

void Queue::insert(JobId id, std::uint32_t priority, const Request& request, std::shared_ptr<const NodeSet> admitted) {
    auto& shape = shapes_[request];
    if (shape.jobs.empty()) {
        shape.request = request;
        shape.admitted = std::move(admitted);
    }
    PendingJob job;
    job.place = {priority, id};
    job.shape = &shape;
    shape.jobs.insert(job.place);
    order_.insert(job.place);
    jobs_.emplace(id, job);
}

bool Queue::erase(JobId id) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) return false;
    auto& job = found->second;
    order_.erase(job.place);
    job.shape->jobs.erase(job.place);
    if (job.shape->jobs.empty()) shapes_.erase(shapes_.find(job.shape->request));
    jobs_.erase(found);
    return true;
}

bool Queue::reprioritize(JobId id, std::uint32_t priority) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) return false;
    auto& job = found->second;
    order_.erase(job.place);
    job.shape->jobs.erase(job.place);
    job.place.priority = priority;
    job.shape->jobs.insert(job.place);
    order_.insert(job.place);
    return true;
}

} // namespace flux::sched
