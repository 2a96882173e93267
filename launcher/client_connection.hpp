// The connection to the one client: packets wait here while the client does not read.
#pragma once

#include <flux/launcher_protocol.hpp>

#include <deque>

namespace flux::launcher {

class ClientConnection {
public:
    /// Take over a connected socket, closing the one before. False when its peer is another user.
    bool adopt(FileDescriptor socket) noexcept;
    void close() noexcept;

    bool connected() const noexcept { return static_cast<bool>(socket_); }
    int fd() const noexcept { return socket_.get(); }
    bool wants_to_write() const noexcept { return !queue_.empty(); }

    /// Send or queue; dropped when there is no client, who asks for everything when one comes.
    void send(launcher_protocol::Packet packet);
    void send(launcher_protocol::Operation operation, std::uint64_t id, std::uint32_t value);
    /// Send what waits.
    void flush();
    /// False when nothing more is there now; a client that is gone is closed.
    bool receive(launcher_protocol::Packet& packet);

private:
    FileDescriptor socket_;
    std::deque<launcher_protocol::Packet> queue_;
};

} // namespace flux::launcher
