// .update-duration: the time limit of a job may be changed (jobs.md 6.5): by the owner of the instance to anything,
// also while the job runs; by others within the limits and before it runs.
#include "builtins.hpp"

#include <cerrno>

namespace flux::job_manager {

namespace {

class UpdateDuration final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    bool job_update_key(const JobtapJob& job, JobtapUpdate& update) override {
        if (update.key != "attributes.system.duration") return false;
        auto duration = update.value.try_as<double>();
        if (!duration || *duration < 0) throw Error(EINVAL, "duration must be a positive number or zero");
        if (update.credentials.owner())
            update.validated = true;
        else if (!job_state_in(job.state, job_states_pending))
            throw Error(EPERM, "update of duration for running job requires instance owner");
        return true;
    }
};

} // namespace

std::unique_ptr<JobtapPlugin> make_update_duration(JobtapHost& host) { return std::make_unique<UpdateDuration>(host); }

} // namespace flux::job_manager
