#include "cmd/follow/standard_input.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace flux::follow {
namespace {

constexpr std::size_t chunk_size = 64 * 1024;

} // namespace

StandardInput::StandardInput(Loop& loop) {
    struct stat status {};
    if (::fstat(STDIN_FILENO, &status) < 0) return; // closed: at its end
    const bool waits = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(STDIN_FILENO);
    // Watching makes the description non-blocking, and whoever shares it would not expect that: open our own if we can.
    if (waits) fd_.reset(::open("/proc/self/fd/0", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (!fd_) {
        fd_.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
        if (waits) restore_flags_ = ::fcntl(STDIN_FILENO, F_GETFL);
    }
    if (!waits) return;
    watcher_ = std::make_unique<FdWatcher>(loop, fd_.get(), [this](int) {
        watcher_->watch(0);
        ready_ = true;
        readable_.notify_all();
    });
}

StandardInput::~StandardInput() {
    watcher_.reset();
    if (restore_flags_ >= 0) ::fcntl(STDIN_FILENO, F_SETFL, restore_flags_);
}

Task<std::string> StandardInput::read() {
    std::string bytes(chunk_size, '\0');
    while (fd_) {
        if (watcher_) {
            ready_ = false;
            watcher_->watch(FdWatcher::readable);
            while (!ready_) co_await readable_.wait();
        }
        auto size = ::read(fd_.get(), bytes.data(), bytes.size());
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (size < 0 && errno == EIO) break; // the terminal has gone
        if (size < 0) throw Error(errno, "stdin: " + errno_text(errno));
        bytes.resize(static_cast<std::size_t>(size));
        co_return std::move(bytes);
    }
    co_return std::string();
}

} // namespace flux::follow
