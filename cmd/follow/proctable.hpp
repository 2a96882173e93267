// The table of a job's processes, as its shells tell debuggers (jobs.md 10.3).
#pragma once

#include <flux/json.hpp>

#include <string>
#include <vector>

namespace flux::follow {

struct Process {
    std::string host;
    std::string executable;
    std::uint32_t task;
    int pid;
};

/// \throws Error EPROTO when it is malformed or names more tasks than a job can have.
std::vector<Process> decode_proctable(JsonView json);

} // namespace flux::follow
