#include <flux/error.hpp>
#include <flux/pipe.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace flux {
namespace {

constexpr std::size_t chunk_size = 64 * 1024;

void set_nonblocking(int fd) {
    int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        throw Error(errno, fmt::format("cannot use descriptor {}", fd));
}

/// write(2) without SIGPIPE. There is no MSG_NOSIGNAL for pipes, and whether the program ignores the signal is not ours
/// to decide.
ssize_t write_quietly(int fd, std::string_view bytes) noexcept {
    sigset_t pipe_signal, old;
    ::sigemptyset(&pipe_signal);
    ::sigaddset(&pipe_signal, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
    ssize_t rc = ::write(fd, bytes.data(), bytes.size());
    int errnum = errno;
    if (rc < 0 && errnum == EPIPE && !::sigismember(&old, SIGPIPE)) {
        timespec now{};
        ::sigtimedwait(&pipe_signal, nullptr, &now);
    }
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    errno = errnum;
    return rc;
}

} // namespace

// PipeReader ----------------------------------------------------------------------------------------------------

struct PipeReader::State : std::enable_shared_from_this<State> {
    State(Loop& loop, FileDescriptor fd, ReadMode mode, std::function<void(std::string_view)> on_data,
          std::size_t limit)
        : loop(loop),
          fd(std::move(fd)),
          mode(mode),
          on_data(std::move(on_data)),
          limit(std::max<std::size_t>(limit, 1)) {}

    /// False when the owner paused or destroyed the reader meanwhile.
    bool hand_out(std::string_view data) {
        on_data(data);
        return watcher && !paused;
    }

    /// Hand out what is complete in `buffer`.
    bool hand_out_buffered() {
        while (begin < buffer.size()) {
            auto data = std::string_view(buffer).substr(begin);
            std::size_t size = complete(data);
            if (size == 0) break;
            begin += size;
            if (!hand_out(data.substr(0, size))) break;
        }
        if (!watcher) return false;
        if (begin == buffer.size())
            buffer.clear(), begin = 0;
        else if (begin >= chunk_size)
            buffer.erase(0, begin), begin = 0;
        return !paused;
    }

    std::size_t complete(std::string_view data) const noexcept {
        auto within = data.substr(0, limit);
        if (mode == ReadMode::raw || at_end)
            return mode == ReadMode::line && at_end ? line_size(within) : within.size();
        auto newline = mode == ReadMode::line ? within.find('\n') : within.rfind('\n');
        if (newline != std::string_view::npos) return newline + 1;
        return data.size() >= limit ? limit : 0;
    }
    static std::size_t line_size(std::string_view data) noexcept {
        auto newline = data.find('\n');
        return newline == std::string_view::npos ? data.size() : newline + 1;
    }

    void on_readable() {
        auto self = shared_from_this();
        thread_local char chunk[chunk_size];
        ssize_t size = ::read(fd.get(), chunk, sizeof chunk);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (size <= 0) { // a pty or socket whose other end is gone fails instead of ending
            at_end = true;
        } else if (mode == ReadMode::raw && buffer.empty() && static_cast<std::size_t>(size) <= limit) {
            hand_out({chunk, static_cast<std::size_t>(size)});
            return;
        } else {
            buffer.append(chunk, static_cast<std::size_t>(size));
        }
        go_on();
    }

    void go_on() {
        auto self = shared_from_this();
        if (!hand_out_buffered() || !at_end || ended) return;
        ended = true;
        watcher->watch(0);
        on_data({});
    }

    void post_turn() {
        loop.post([weak = weak_from_this()] {
            auto self = weak.lock();
            if (self && self->watcher && !self->paused) self->go_on();
        });
    }

    Loop& loop;
    FileDescriptor fd;
    ReadMode mode;
    std::function<void(std::string_view)> on_data;
    std::size_t limit;
    std::string buffer;
    std::size_t begin = 0; // of what is not handed out yet
    bool paused = false;
    bool at_end = false; // of the descriptor
    bool ended = false;  // and told
    std::optional<FdWatcher> watcher;
};

PipeReader::PipeReader(Loop& loop, FileDescriptor fd, ReadMode mode, std::function<void(std::string_view)> on_data,
                       std::size_t limit) {
    set_nonblocking(fd.get());
    state_ = std::make_shared<State>(loop, std::move(fd), mode, std::move(on_data), limit);
    auto* state = state_.get();
    state->watcher.emplace(loop, state->fd.get(), [state](int) { state->on_readable(); });
    state->watcher->watch(FdWatcher::readable);
}

PipeReader::~PipeReader() { state_->watcher.reset(); }

void PipeReader::pause() noexcept {
    state_->paused = true;
    state_->watcher->watch(0);
}

void PipeReader::resume() {
    if (!std::exchange(state_->paused, false) || state_->ended) return;
    if (!state_->at_end) state_->watcher->watch(FdWatcher::readable);
    state_->post_turn();
}

bool PipeReader::ended() const noexcept { return state_->ended; }
std::string_view PipeReader::pending() const noexcept { return std::string_view(state_->buffer).substr(state_->begin); }
void PipeReader::unread(std::string_view bytes) { state_->buffer.insert(state_->begin, bytes); }
int PipeReader::fd() const noexcept { return state_->fd.get(); }

// PipeWriter ----------------------------------------------------------------------------------------------------

struct PipeWriter::State : std::enable_shared_from_this<State> {
    State(Loop& loop, FileDescriptor fd, std::function<void(std::size_t)> on_consumed, std::size_t limit)
        : loop(loop), fd(std::move(fd)), on_consumed(std::move(on_consumed)), limit(limit) {}

    void write(std::string_view bytes) {
        if (closing || broken) throw Error(EPIPE, "the stream is closed");
        if (bytes.size() > limit - pending().size())
            throw Error(ENOSPC, fmt::format("{} bytes do not fit into the buffer of {} bytes", bytes.size(), limit));
        if (pending().empty()) bytes.remove_prefix(send(bytes));
        buffer.append(bytes);
        settle();
    }

    void close() {
        closing = true;
        settle();
    }

    std::string_view pending() const noexcept { return std::string_view(buffer).substr(begin); }

    /// Bytes that have left; all of them when there is nobody to read them.
    std::size_t send(std::string_view bytes) {
        if (bytes.empty()) return 0;
        ssize_t rc = write_quietly(fd.get(), bytes);
        if (rc < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
        if (rc < 0) broken = true;
        auto size = rc < 0 ? bytes.size() : static_cast<std::size_t>(rc);
        consumed(size);
        return size;
    }

    void on_writable() {
        auto self = shared_from_this();
        begin += send(pending());
        settle();
    }

    /// Watch if something waits; end the stream if it was closed and nothing does.
    void settle() {
        if (begin == buffer.size())
            buffer.clear(), begin = 0;
        else if (begin >= chunk_size)
            buffer.erase(0, begin), begin = 0;
        if (!fd) return;
        if (!buffer.empty()) {
            if (!watcher) watcher.emplace(loop, fd.get(), [this](int) { on_writable(); });
            watcher->watch(FdWatcher::writable);
            return;
        }
        watcher.reset();
        if (closing || broken) {
            ::shutdown(fd.get(), SHUT_WR); // a channel's reader holds the socket too
            fd.reset();
        }
    }

    // Told after the caller's turn and in one sum: a flood of small writes makes one credit.
    void consumed(std::size_t size) {
        unreported += size;
        if (size == 0 || !on_consumed || unreported != size) return;
        loop.post([weak = weak_from_this()] {
            auto self = weak.lock();
            if (!self || !self->on_consumed) return;
            self->on_consumed(std::exchange(self->unreported, 0));
        });
    }

    Loop& loop;
    FileDescriptor fd;
    std::function<void(std::size_t)> on_consumed;
    std::size_t limit;
    std::string buffer;
    std::size_t begin = 0;
    std::size_t unreported = 0;
    bool closing = false;
    bool broken = false;
    std::optional<FdWatcher> watcher;
};

PipeWriter::PipeWriter(Loop& loop, FileDescriptor fd, std::function<void(std::size_t)> on_consumed, std::size_t limit) {
    set_nonblocking(fd.get());
    state_ = std::make_shared<State>(loop, std::move(fd), std::move(on_consumed), limit);
}

PipeWriter::~PipeWriter() {
    state_->watcher.reset();
    state_->on_consumed = nullptr;
}

void PipeWriter::write(std::string_view bytes) { state_->write(bytes); }
void PipeWriter::close() { state_->close(); }
bool PipeWriter::closed() const noexcept { return state_->closing || state_->broken; }
std::string_view PipeWriter::pending() const noexcept { return state_->pending(); }

// ExitWatcher ---------------------------------------------------------------------------------------------------

ExitWatcher::ExitWatcher(Loop& loop, pid_t pid, std::function<void(int)> on_exit)
    : pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
    int errnum = errno;
    auto on_ready = [this, pid, on_exit = std::move(on_exit)](int) {
        int status = 0;
        if (::waitpid(pid, &status, WNOHANG) == 0) return;
        watcher_->watch(0);
        on_exit(status);
    };
    try {
        if (!pidfd_) throw Error(errnum, fmt::format("cannot watch process {}: {}", pid, errno_text(errnum)));
        watcher_ = std::make_unique<FdWatcher>(loop, pidfd_.get(), std::move(on_ready));
    } catch (const Error&) {
        // Nobody would learn of its end or reap it.
        if (::kill(pid, SIGKILL) == 0) ::waitpid(pid, nullptr, 0);
        throw;
    }
    watcher_->watch(FdWatcher::readable);
}

ExitWatcher::~ExitWatcher() = default;

} // namespace flux
