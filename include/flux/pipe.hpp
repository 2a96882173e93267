// Bounded reading and writing of pipes, sockets and ptys on a loop, and the wait for the end of a child. Each owns its
// descriptor; each may be destroyed in its own callback.
#pragma once

#include <flux/file_descriptor.hpp>
#include <flux/loop.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace flux {

/// Flux's default size of a stream buffer.
inline constexpr std::size_t default_pipe_limit = 4 * 1024 * 1024;

/// How what was read is handed out.
enum class ReadMode {
    raw,   ///< as it comes
    line,  ///< one line a call, newline included
    lines, ///< as many whole lines a call as there are
};

class PipeReader {
public:
    /// \param on_data  an empty view is the end of the stream, told once.
    /// \param limit    a line that is longer is handed out in pieces of this size.
    PipeReader(Loop& loop, FileDescriptor fd, ReadMode mode, std::function<void(std::string_view)> on_data,
               std::size_t limit = default_pipe_limit);
    ~PipeReader();
    PipeReader(const PipeReader&) = delete;
    PipeReader& operator=(const PipeReader&) = delete;

    /// Reading is on from the start. While it is off nothing is read or handed out: the pipe fills and its writer
    /// blocks.
    void pause() noexcept;
    void resume();
    /// The end was told.
    bool ended() const noexcept;
    /// What was read and is not handed out yet: the beginning of a line. A reader that goes on with the same descriptor
    /// gets it by unread() before its first turn.
    std::string_view pending() const noexcept;
    void unread(std::string_view bytes);
    int fd() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

class PipeWriter {
public:
    /// \param on_consumed  told, some time after a write, how many bytes have left (or were thrown away, when nobody
    /// can
    ///                     read them any more).
    PipeWriter(Loop& loop, FileDescriptor fd, std::function<void(std::size_t)> on_consumed = {},
               std::size_t limit = default_pipe_limit);
    /// What has not left is lost.
    ~PipeWriter();
    PipeWriter(const PipeWriter&) = delete;
    PipeWriter& operator=(const PipeWriter&) = delete;

    /// Queue all of `bytes`. \throws Error ENOSPC when they do not fit into the buffer, EPIPE when nobody can read them
    /// or after close().
    void write(std::string_view bytes);
    /// End of stream, after what was written has left.
    void close();
    bool closed() const noexcept;
    /// Bytes that wait to leave.
    std::string_view pending() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Waits for the end of a child process.
class ExitWatcher {
public:
    /// \param on_exit  told the wait status once; the child is reaped by then.
    /// \throws Error ESRCH when there is no such child.
    ExitWatcher(Loop& loop, pid_t pid, std::function<void(int)> on_exit);
    ~ExitWatcher();
    ExitWatcher(const ExitWatcher&) = delete;
    ExitWatcher& operator=(const ExitWatcher&) = delete;

private:
    FileDescriptor pidfd_;
    std::unique_ptr<FdWatcher> watcher_;
};

} // namespace flux
