// The main eventlog of a job, followed for what other things depend on.
#pragma once

#include "line_buffer.hpp"

#include <flux/eventlog.hpp>
#include <flux/job_id.hpp>
#include <flux/kvs.hpp>

#include <optional>
#include <string>

namespace flux::job_info {

/// Key of something in the directory of a job.
std::string job_key(JobId id, std::string_view name);

class MainLog {
public:
    MainLog(Handle& handle, JobId id);

    /// The next event; nothing once after those that were there at first, and nothing at the end.
    /// \throws Error ENOENT when there is no such job
    Task<std::optional<EventlogEntry>> next();
    bool ended() const noexcept { return ended_; }
    void cancel() { watch_.cancel(); }

private:
    kvs::Watch watch_;
    LineBuffer lines_;
    bool ended_ = false;
};

} // namespace flux::job_info
