// What an agent tells the coordinator of one shell (flux/job_exec_protocol.hpp).
#pragma once

#include <flux/job_id.hpp>

#include <optional>
#include <string>

namespace flux::job_exec {

enum class ShellState { starting, running, ended, failed };

class ShellReport {
public:
    ShellReport() {}
    explicit ShellReport(JobId id) : id(id) {}
    /// \throws Error EPROTO
    static ShellReport decode(JsonView json);
    Json encode() const;

    JobId id;
    ShellState state = ShellState::starting;
    std::optional<int> status;
    int errnum = 0;
    std::string error;
    int entered = 0;
    int released = 0;
    bool expired = false;
    Json output = Json::array();
};

} // namespace flux::job_exec
