// What the configuration adds to a jobspec (jobs.md 3.4: frobnicator plugins `defaults` and `constraints`). Pure.
#pragma once

#include <flux/json.hpp>

namespace flux::job_ingest {

/// Fill in `policy.jobspec.defaults` of the instance, of the queue's parent and of the queue, and the constraints of
/// the queue. \throws Error EINVAL when queues are configured and the job names none, or an unknown one
void apply_defaults(Json& jobspec, JsonView config);

} // namespace flux::job_ingest
