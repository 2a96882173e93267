// .update-queue: a job that has not been given resources may be moved to another queue, whose constraints it then has.
#include "builtins.hpp"

#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <string>

namespace flux::job_manager {

namespace {

class UpdateQueue final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;

    bool job_update_key(const JobtapJob& job, JobtapUpdate& update) override {
        if (update.key != "attributes.system.queue") return false;
        auto name = update.value.try_as<std::string>();
        if (!name) throw Error(EINVAL, "queue must be a string");
        if (!job_state_in(job.state, job_states_pending))
            throw Error(EINVAL, "update of queue for running job not supported");
        JobspecView jobspec(job.jobspec);
        auto present = jobspec.queue();
        if (present == *name) throw Error(EINVAL, fmt::format("job queue is already set to {}", *name));
        host().check_submit(*name);
        auto expected = constraints_of(present);
        auto constraints = jobspec.constraints();
        if (expected.is_null() ? static_cast<bool>(constraints) : !expected.equals(constraints))
            throw Error(EINVAL, fmt::format("unable to update queue to {}: the job has constraints of its own", *name));
        update.more = Json::object("attributes.system.constraints", constraints_of(*name));
        update.feasibility = true;
        return true;
    }

private:
    // What ingest gives a job of the queue without constraints of its own; null for none.
    Json constraints_of(const std::string& name) {
        auto queues = host().config()["queues"];
        auto queue = queues[name];
        if (auto parent = queue["parent"].try_as<std::string>()) queue = queues[*parent];
        auto properties = queue["requires"];
        if (properties.empty()) return nullptr;
        return Json::object("properties", properties.copy());
    }
};

} // namespace

std::unique_ptr<JobtapPlugin> make_update_queue(JobtapHost& host) { return std::make_unique<UpdateQueue>(host); }

} // namespace flux::job_manager
