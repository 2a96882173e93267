#include "broker/listener/listener.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace flux::broker {
namespace {

FileDescriptor listen_at(const std::string& path, mode_t mode) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw Error(EINVAL, "socket path is too long: " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::unlink(path.c_str());
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
        (mode && ::chmod(path.c_str(), mode) < 0) || ::listen(socket.get(), SOMAXCONN) < 0)
        throw Error(errno, fmt::format("cannot listen at {}: {}", path, errno_text(errno)));
    return socket;
}

} // namespace

Listener::Listener(Loop& loop, std::string path, mode_t mode, OnAccept on_accept)
    : path_(std::move(path)),
      acceptor_(loop, listen_at(path_, mode), [on_accept = std::move(on_accept)](FileDescriptor socket) {
          ucred peer{};
          socklen_t size = sizeof peer;
          if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
              on_accept(std::move(socket), peer);
      }) {}

Listener::~Listener() { ::unlink(path_.c_str()); }

} // namespace flux::broker
