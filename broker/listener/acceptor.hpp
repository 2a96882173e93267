// Accepts the connections of a listening socket. Runs on the broker's loop.
#pragma once

#include <flux/file_descriptor.hpp>
#include <flux/loop.hpp>

#include <functional>

namespace flux::broker {

class Acceptor {
public:
    /// \param on_accept  takes a connected, non-blocking socket.
    Acceptor(Loop& loop, FileDescriptor listening, std::function<void(FileDescriptor)> on_accept);
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    int fd() const noexcept { return listening_.get(); }
    /// False: connections wait in the kernel's backlog.
    void enable(bool on) noexcept;

private:
    void accept();

    FileDescriptor listening_;
    std::function<void(FileDescriptor)> on_accept_;
    FdWatcher watcher_;
    Timer retry_; ///< runs while there is no descriptor left for another connection
    bool enabled_ = true;
};

} // namespace flux::broker
