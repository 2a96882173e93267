// A child process with its streams, on a loop. For the shell and commands; what must outlive its starter is started
// through rexec (rexec.hpp).
#pragma once

#include <flux/process_streams.hpp>
#include <flux/spawn.hpp>

#include <optional>
#include <vector>

namespace flux {

/// Where one descriptor of a child leads.
class StreamSetup {
public:
    enum class Kind {
        inherit, ///< the descriptor of the same number of this program
        null,    ///< /dev/null
        given,   ///< `fd`, which stays the caller's
        pipe,    ///< a pipe: stdin is written, others are read
        channel, ///< a socketpair, read and written
    };
    StreamSetup(std::string name, Kind kind) : name(std::move(name)), kind(kind) {}

    std::string name;
    Kind kind;
    int fd = -1;
    ReadMode mode = ReadMode::line;
    std::size_t limit = default_pipe_limit;
};

class SubprocessSetup {
public:
    /// stdin, stdout and stderr are inherited until changed.
    explicit SubprocessSetup(Command command);

    /// \throws Error EINVAL when there is no such stream.
    StreamSetup& stream(std::string_view name);
    /// Make one of the standard streams a pipe.
    StreamSetup& pipe(std::string_view name);
    /// A socket whose other end is the child's, told by its number in the environment variable `name`.
    StreamSetup& channel(const std::string& name);
    /// Hand `fd` (which stays the caller's) to the child. \return its number there.
    int pass(int fd);

    Command command;
    std::vector<StreamSetup> streams; ///< the position is the child's descriptor
};

/// What is told about a child, on its loop. Any of these may destroy the Subprocess.
class SubprocessEvents {
public:
    SubprocessEvents() {}
    /// Data of a stream; an empty view is its end.
    ProcessStreams::OnOutput on_output;
    /// Bytes of a stream that have left the buffer.
    ProcessStreams::OnConsumed on_consumed;
    /// It was stopped by this signal. Costs a handler of SIGCHLD when set.
    std::function<void(int signum)> on_stopped;
    /// It ended, with this wait status; output may follow.
    std::function<void(int status)> on_exit;
    /// It ended and every stream has.
    std::function<void()> on_complete;
};

class Subprocess {
public:
    /// Starts the process. \throws Error with the errno of the failed execution, `error launching process: ...`.
    Subprocess(Loop& loop, const SubprocessSetup& setup, SubprocessEvents events);
    /// Lets go of a process that still runs: it goes on, unwatched.
    ~Subprocess();
    Subprocess(const Subprocess&) = delete;
    Subprocess& operator=(const Subprocess&) = delete;

    pid_t pid() const noexcept;
    /// The wait status, once it has ended.
    std::optional<int> status() const noexcept;
    ProcessStreams& streams() noexcept;
    /// Signal its process group, or itself when it has none. The group may be signalled after its leader has ended, as
    /// long as a stream is open. \throws Error ESRCH
    void kill(int signum);

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace flux
