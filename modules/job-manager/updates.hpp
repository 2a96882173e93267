// `update`: changes to the jobspec of a job that was submitted, as far as plugins allow them (jobs.md 5.4).
#pragma once

#include "core.hpp"
#include "exec.hpp"

#include <flux/handle.hpp>

namespace flux::job_manager {

class Updates {
public:
    Updates(Core& core, const Exec& exec) : core_(core), exec_(exec) {}

    Task<> update(Request request);
    /// A `resource-update` is durable: the execution service has to know.
    void on_resource_update(const Job& job);

private:
    struct Verdict {
        Json updates;
        bool validated = true;
        bool feasibility = false;
    };
    Verdict ask_plugins(const Job& job, JsonView updates, const Credentials& credentials) const;
    Job& updatable(JobId id, const Request& request) const;

    Core& core_;
    const Exec& exec_;
};

} // namespace flux::job_manager
