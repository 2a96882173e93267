// Following one of several jobs: until an event, with its output or without.
#pragma once

#include <flux/eventlog.hpp>
#include <flux/handle.hpp>
#include <flux/job_id.hpp>

#include <cstdio>
#include <functional>
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
    std::function<void(const EventlogEntry& event)> on_event; ///< told of each event of the main log
};

/// \returns the job's exit code, 0 when the awaited event came before its end.
Task<int> monitor(Handle* handle, Scope* scope, JobId id, MonitorOptions options);

} // namespace flux::follow
