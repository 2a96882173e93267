// The resource limits of a job: those of its submitter, changed by rules (`--rlimit`, shell.md 7.6).
#pragma once

#include <flux/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace flux::submission {

class LimitRules {
public:
    /// Begins with the soft limits of this process, without those that depend on the host more than on the job.
    LimitRules();

    /// A comma list of `-PATTERN` (drop), `PATTERN` (as the process has it) and `NAME=N|unlimited|infinity|inf`.
    /// \throws Error EINVAL
    void apply(std::string_view rule);

    bool empty() const noexcept { return limits_.empty(); }
    /// Limits by name, -1 for none.
    Json to_json() const;

private:
    void apply_one(std::string_view rule);

    std::map<std::size_t, std::int64_t> limits_; // by position in the table of names
};

} // namespace flux::submission
