// Option `output` (shell.md 3.5).
#pragma once

#include <flux/shell.hpp>

#include <cstdint>
#include <string>

namespace flux::shell {

struct StreamConfig {
    enum class Target {
        events,   ///< the job's eventlog `output`
        file,     ///< path
        terminal, ///< the shell's own stream, in a shell without a broker
    };
    std::string name; ///< `stdout` or `stderr`
    Target target = Target::events;
    std::string path; ///< template
    bool label = false;
    bool line_buffered = true;
    int open_flags = 0; ///< besides O_CREAT and O_WRONLY
};

struct OutputConfig {
    StreamConfig out;
    StreamConfig err;
    std::uint64_t limit = 0;     ///< bytes of a stream that are kept in events
    std::size_t low_water = 100; ///< messages to the leader
    std::size_t high_water = 1000;

    /// What may be wrong and is not fatal is logged. \throws Error EINVAL
    static OutputConfig read(Shell& shell);
};

} // namespace flux::shell
