// Following one of several jobs: until an event, with its output or without.
#pragma once

#include <flux/handle.hpp>
#include <flux/job_id.hpp>

#include <cstdio>
#include <string>

namespace flux::follow {

class MonitorOptions {
public:
    MonitorOptions() {}
    std::string wait_event = "clean"; ///< `exec.NAME`: an event of the exec eventlog
    bool output = false;
    bool label_io = false;
    unsigned verbose = 0; ///< 1: how the job ended, 2: every event
    FILE* out = stdout;
    FILE* err = stderr;
};

/// \returns the job's exit code, 0 when the awaited event came before its end.
Task<int> monitor(Handle* handle, Scope* scope, JobId id, MonitorOptions options);

} // namespace flux::follow
