// What `run` and `alloc` have in common: one job that the command attaches to.
#pragma once

#include "cmd/context.hpp"
#include "cmd/follow/attach.hpp"
#include "cmd/options/parse.hpp"

#include <flux/json.hpp>

namespace flux::cmd {

class Launch {
public:
    /// Urgency, flags and how to attach are taken from the options. \throws Error
    Launch(Json jobspec, const options::Parsed& parsed);

    Json jobspec;
    int urgency;
    int flags;
    unsigned verbosity; ///< 1: tell the id, 2: the job's events too, 3: and those of its execution
    follow::AttachOptions attach;
};

/// The id of the job that this became.
Task<JobId> submit(Context* context, const Launch* launch);
/// \returns the job's exit code
Task<int> submit_and_attach(Context* context, const Launch* launch);

} // namespace flux::cmd
