// What a shell is told when it starts: by its exec agent (flux/shell_protocol.hpp), by look-ups, or by files.
#pragma once

#include <flux/handle.hpp>
#include <flux/idset.hpp>
#include <flux/job_id.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::shell {

class Launch {
public:
    JobId id;
    std::uint32_t userid = 0;
    std::uint32_t owner = 0;
    std::uint32_t broker_rank = 0;
    Json jobspec;
    Json R;
    Json attributes = Json::object();
    /// For each logical core of the host its CPUs; empty when they were not given.
    std::vector<Idset> cpusets;
    /// No broker.
    bool standalone = false;

    /// \throws Error EPROTO, EINVAL when something is missing or malformed, EPERM when the jobspec is another user's.
    static Launch decode(JsonView json);
    /// The launch in the file named by FLUX_SHELL_INIT; nothing without the variable.
    static std::optional<Launch> from_environment();
    /// \throws Error naming the file that cannot be read or is malformed.
    static Launch from_files(JobId id, const std::string& jobspec, const std::string& R);
    /// Ask the broker.
    static Task<Launch> lookup(Handle* handle, JobId id);

    std::optional<std::string> attribute(std::string_view name) const { return attributes[name].try_as<std::string>(); }
};

} // namespace flux::shell
