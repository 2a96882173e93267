#include "client_connection.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace flux::launcher {

using namespace launcher_protocol;

namespace {

/// A client that lets more wait than this is cut off: it learns everything when it connects again.
constexpr std::size_t queue_limit = 100'000;

} // namespace

bool ClientConnection::adopt(FileDescriptor socket) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return false;
    if (peer.uid != ::geteuid() && peer.uid != 0) return false;
    close();
    socket_ = std::move(socket);
    return true;
}

void ClientConnection::close() noexcept {
    socket_.reset();
    queue_.clear();
}

void ClientConnection::send(Packet packet) {
    if (!socket_) return;
    queue_.push_back(std::move(packet));
    if (queue_.size() > queue_limit) return close();
    if (queue_.size() == 1) flush();
}

void ClientConnection::send(Operation operation, std::uint64_t id, std::uint32_t value) {
    Packet packet;
    packet.operation = operation;
    packet.id = id;
    packet.body = BodyWriter().u32(value).take();
    send(std::move(packet));
}

void ClientConnection::flush() {
    while (!queue_.empty()) {
        int errnum = send_packet(socket_.get(), queue_.front());
        if (errnum == EAGAIN) return;
        // A client that has gone may have asked for something before: receive() comes to its end.
        if (errnum != 0) return queue_.clear();
        queue_.pop_front();
    }
}

bool ClientConnection::receive(Packet& packet) {
    if (!socket_) return false;
    int errnum = receive_packet(socket_.get(), packet);
    if (errnum == 0) return true;
    if (errnum != EAGAIN) close();
    return false;
}

} // namespace flux::launcher
