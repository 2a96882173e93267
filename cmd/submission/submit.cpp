#include "cmd/submission/submit.hpp"

#include <flux/job_ingest_protocol.hpp>
#include <flux/sign.hpp>

#include <unistd.h>

namespace flux::submission {

Call submit(Handle& handle, JsonView jobspec, int urgency, int flags) {
    auto signed_jobspec = SignedRequest::sign(jobspec.dump(), ::getuid());
    return handle.call(job_ingest_protocol::submit.topic,
                       Json::object("J", signed_jobspec, "urgency", urgency, "flags", flags));
}

} // namespace flux::submission
