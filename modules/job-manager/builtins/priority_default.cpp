// .priority-default: a job's priority is its urgency, unless a plugin knows better.
#include "builtins.hpp"

namespace flux::job_manager {

namespace {

class PriorityDefault final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    Priority job_priority(const JobtapJob& job) override { return Priority(job.urgency); }
};

} // namespace

std::unique_ptr<JobtapPlugin> make_priority_default(JobtapHost& host) {
    return std::make_unique<PriorityDefault>(host);
}

} // namespace flux::job_manager
