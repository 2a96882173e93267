// How a job ended, as its eventlog tells.
#pragma once

#include <flux/eventlog.hpp>

#include <optional>
#include <string>

namespace flux::follow {

class Outcome {
public:
    /// Take in an event of the main eventlog.
    void apply(const EventlogEntry& event);

    /// Wait status of the `finish` event, if there was one.
    std::optional<int> status() const noexcept { return status_; }
    /// Type of the first exception that ended the job.
    const std::optional<std::string>& fatal_exception() const noexcept { return exception_; }
    /// 0, the highest exit code of the tasks, 128 + signal; 1 for a job that an exception ended before it ran.
    int exit_code() const noexcept;

private:
    std::optional<int> status_;
    std::optional<std::string> exception_;
};

} // namespace flux::follow
