// What the scheduler wants done: the answers of the sched.alloc protocol (RFC 27).
#pragma once

#include <flux/job_id.hpp>
#include <flux/json.hpp>
#include <flux/resource_set.hpp>

#include <string>
#include <utility>
#include <vector>

namespace flux::sched {

struct Action {
    /// The numbers are those of the protocol.
    enum class Type {
        success = 0,  ///< the job got R: commit it, then answer
        annotate = 1, ///< news of a pending job
        deny = 2,     ///< the job can never run: `note` says why
        cancel = 3,   ///< the pending request is withdrawn
    };

    static Action success(JobId id, ResourceSet R, Json annotations) {
        return {Type::success, id, std::move(R), std::move(annotations), {}};
    }
    static Action annotate(JobId id, Json annotations) { return {Type::annotate, id, {}, std::move(annotations), {}}; }
    static Action deny(JobId id, std::string note) { return {Type::deny, id, {}, {}, std::move(note)}; }
    static Action cancel(JobId id) { return {Type::cancel, id, {}, {}, {}}; }

    Type type;
    JobId id;
    ResourceSet R;
    Json annotations;
    std::string note;
};

using Actions = std::vector<Action>;

} // namespace flux::sched
