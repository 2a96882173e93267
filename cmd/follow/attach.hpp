// Attaching to a job: its output to ours, our input and signals to it, its exit code as ours (jobs.md 10.2).
#pragma once

#include "cmd/context.hpp"

#include <flux/idset.hpp>
#include <flux/job_id.hpp>

#include <optional>
#include <string>

namespace flux::follow {

class AttachOptions {
public:
    AttachOptions() {}
    bool show_events = false;
    bool show_exec = false;
    bool show_status = false;
    bool label_io = false;
    bool verbose = false;
    bool quiet = false;
    bool read_only = false;
    bool unbuffered = false;
    std::string wait_event = "clean";
    std::optional<Idset> stdin_ranks; ///< default: all
    std::optional<unsigned> tail;     ///< lines of older output to show; default: all
};

/// Follow the job to its end. \returns the exit code.
/// \throws Error when there is no such job or it belongs to somebody else.
Task<int> attach(cmd::Context* context, JobId id, AttachOptions options);

} // namespace flux::follow
