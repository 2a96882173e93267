// What the eventlogs of a job tell of its execution so far.
#pragma once

#include "execution.hpp"

namespace flux::job_exec {

/// Read exec.eventlog. \throws Error EINVAL for a bad log.
void read_exec_eventlog(std::string_view text, Past& past);
/// Read the job's own eventlog. \param wall  the time of day at `now`, in seconds since 1970.
/// \throws Error EINVAL for a bad log.
void read_job_eventlog(std::string_view text, double wall, Time now, Past& past);

} // namespace flux::job_exec
