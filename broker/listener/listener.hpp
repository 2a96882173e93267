// A listening Unix socket: makes it, accepts, and leaves nothing behind. Runs on the broker's loop.
#pragma once

#include "broker/listener/acceptor.hpp"

#include <functional>
#include <string>
#include <sys/socket.h>

namespace flux::broker {

class Listener {
public:
    /// \param on_accept  takes a connected, non-blocking socket and who is at its other end.
    using OnAccept = std::function<void(FileDescriptor socket, const ucred& peer)>;

    /// Listen at `path`, replacing a socket that is there.
    /// \param mode  of the socket file; 0: as the umask has it.
    /// \throws Error EINVAL for a path that is too long, or why the socket cannot be made
    Listener(Loop& loop, std::string path, mode_t mode, OnAccept on_accept);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

private:
    std::string path_;
    Acceptor acceptor_;
};

} // namespace flux::broker
