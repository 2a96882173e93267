// The agent's memory that outlives it: a file for each shell in RUNDIR/exec-RANK, readable by the owner only. Its first
// line is the launch that the shell reads (flux/shell_protocol.hpp), each further line a report; the last one counts.
// It lives as long as the run directory: after a reboot there is neither a shell nor a file.
#pragma once

#include "shell_report.hpp"

#include <flux/job_id.hpp>

#include <functional>
#include <string>

namespace flux::job_exec {

class AgentFiles {
public:
    /// Makes the directory. \throws Error
    AgentFiles(const std::string& rundir, std::uint32_t rank);

    std::string path(JobId id) const { return directory_ + '/' + id.dec(); }
    /// \throws Error
    void create(JobId id, JsonView launch) const;
    /// \throws Error
    void append(const ShellReport& report) const;
    void remove(JobId id) const noexcept;
    /// Read all files. \param visit  is given the launch and the last report, or else why a file cannot be read.
    void read_all(const std::function<void(JobId, JsonView launch, ShellReport last)>& visit,
                  const std::function<void(JobId, const Error&)>& on_failure) const;

private:
    std::string directory_;
};

} // namespace flux::job_exec
