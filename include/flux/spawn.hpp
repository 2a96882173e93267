// Starting a program. No libuv, no loop, no allocation after the child exists: flux-launcher uses this without libflux.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace flux {

/// What to run. `argv[0]` without a slash is searched in the PATH of `env`.
class Command {
public:
    Command() {}
    explicit Command(std::vector<std::string> arguments) : argv(std::move(arguments)) {}

    std::vector<std::string> argv;
    std::vector<std::string> env; ///< `NAME=value`
    std::string cwd;              ///< empty: that of the caller
    std::string fallback_cwd;     ///< used when `cwd` does not exist or may not be entered; empty: fail
    bool process_group = true;    ///< the child leads a process group of its own
    bool session = false;         ///< and a session, by which what it leaves behind can be told
    std::string terminal;         ///< path of the session's terminal, which its standard streams are; empty: none

    /// Value of a variable of `env`; an empty view with no data when it is absent.
    std::string_view getenv(std::string_view name) const noexcept;
    /// Set a variable, replacing its old value.
    void setenv(std::string_view name, std::string_view value);
    void unsetenv(std::string_view name) noexcept;
};

/// The environment of this program as `NAME=value`.
std::vector<std::string> current_environment();

/// Start a program with all signals unblocked and at their defaults.
/// \param fds  becomes the child's descriptors 0, 1, 2, ...; -1 stands for /dev/null. Every other one is closed.
/// CPU affinity, resource limits and niceness are those of the calling thread. Blocks until the program is executed (it
/// never forks: the memory is shared until then).
/// \return the pid, or a negated errno: of the search, of entering the directory, or of the execution.
pid_t spawn_process(const Command& command, const std::vector<int>& fds) noexcept;

} // namespace flux
