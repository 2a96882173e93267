// Option `pty` of the job shell (shell.md 3.7).
#pragma once

#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <cstddef>

namespace flux::shell {

class PtyOptions {
public:
    PtyOptions() {}
    /// \param ntasks  of the job.
    /// \throws Error EINVAL for unknown members, other types and ranks that are none.
    static PtyOptions read(JsonView option, std::size_t ntasks);

    /// Whether output of this task's terminal goes where its stdout goes.
    bool captured(unsigned rank) const noexcept { return capture || rank != 0; }

    Idset ranks; ///< tasks with a terminal
    bool interactive = false;
    bool capture = true;
    bool added_first = false; ///< task 0 was not among those that were asked for
};

} // namespace flux::shell
