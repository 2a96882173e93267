// The checks of a submit request, in the reference's order (jobs.md 3.1). Pure.
#pragma once

#include <flux/job_state.hpp>
#include <flux/json.hpp>
#include <flux/message.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace flux::job_ingest {

struct Policy {
    std::uint32_t owner = 0; ///< of the instance
    bool allow_root = false; ///< root may submit to somebody else's instance
};

/// A request that may be served.
struct Submission {
    std::string_view J; ///< valid as long as the request
    std::uint32_t userid;
    int urgency;
    int flags;
    Json jobspec; ///< an object; not yet validated
};

/// \throws Error EPROTO, EINVAL, EPERM
Submission check_request(JsonView request, const Credentials& credentials, const Policy& policy);

} // namespace flux::job_ingest
