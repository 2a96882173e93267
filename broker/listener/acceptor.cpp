#include "broker/listener/acceptor.hpp"

#include <cerrno>
#include <chrono>
#include <sys/socket.h>

namespace flux::broker {
namespace {

constexpr std::chrono::milliseconds retry_delay(10);

} // namespace

Acceptor::Acceptor(Loop& loop, FileDescriptor listening, std::function<void(FileDescriptor)> on_accept)
    : listening_(std::move(listening)),
      on_accept_(std::move(on_accept)),
      watcher_(loop, listening_.get(), [this](int) { accept(); }),
      retry_(loop, [this] { enable(enabled_); }) {
    enable(true);
}

void Acceptor::enable(bool on) noexcept {
    enabled_ = on;
    watcher_.watch(on ? FdWatcher::readable : 0);
}

void Acceptor::accept() {
    FileDescriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) return on_accept_(std::move(socket));
    if (errno != EMFILE && errno != ENFILE) return;
    // Out of descriptors: leave the others alone for a moment, the connection waits in the backlog.
    watcher_.watch(0);
    retry_.start(retry_delay);
}

} // namespace flux::broker
