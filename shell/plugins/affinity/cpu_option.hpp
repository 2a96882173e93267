// Option `cpu-affinity` (shell.md 3.9) and the sets it makes. Pure.
#pragma once

#include <flux/idset.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::shell {

struct CpuOption {
    bool off = false;
    bool per_task = false;
    bool verbose = false;
    bool dry_run = false;
    std::vector<Idset> map; ///< CPUs of each task, by local id, over and over; empty: no map

    /// `[verbose|dry-run,…](on|off|per-task|map:…)`. \throws Error EINVAL for a malformed map.
    static CpuOption parse(std::string_view text);
};

/// A set of CPUs as `0-3,8`, as mask `0xff`, or as hwloc's list of 32-bit masks `0x1,0x0`, most significant first.
/// \throws Error EINVAL when it is empty or malformed.
Idset parse_cpus(std::string_view text);

/// Deal cores out to tasks in order: all cores are used, each task gets at least one; with fewer cores than tasks
/// neighbours share.
std::vector<Idset> divide_cores(const Idset& cores, std::size_t ntasks);

/// The CPUs of cores; nothing when a core is not there.
std::optional<Idset> cpus_of(const Idset& cores, std::span<const Idset> core_cpus);

} // namespace flux::shell
