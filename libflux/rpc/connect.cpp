// Opening a connection from a URI: broker.md 1.4 and 2.2.
#include <flux/transport.hpp>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace flux {
namespace {

/// The server's first byte: 0 or the errno of a refusal.
void read_handshake(int fd, const std::string& what) {
    unsigned char byte;
    ssize_t n;
    do n = ::read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n < 0) throw Error(errno, what);
    if (n == 0) throw Error(ECONNRESET, what + ": connection closed before the handshake");
    if (byte != 0) throw Error(byte, what + ": " + errno_text(byte));
}

int connect_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw Error(EINVAL, "broker socket path is too long: " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw Error(errno, "socket");
    // A unix socket with a full backlog blocks here until the broker accepts, so there is nothing to retry.
    int rc;
    do rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        int errnum = errno;
        ::close(fd);
        if (errnum == ENOENT) throw Error(ENOENT, "broker socket " + path + " was not found");
        throw Error(errnum, "broker socket " + path + ": " + errno_text(errnum));
    }
    return fd;
}

} // namespace

std::unique_ptr<Transport> connect_uri(Loop& loop, const std::string& uri) {
    auto after = [&](std::string_view scheme) { return uri.substr(scheme.size()); };
    if (uri.starts_with("loop://")) return std::make_unique<LoopTransport>(loop);
    int fd = -1;
    if (uri.starts_with("local://")) {
        fd = connect_unix(after("local://"));
    } else if (uri.starts_with("fd://")) {
        auto text = after("fd://");
        auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), fd);
        if (ec != std::errc() || *end || fd < 0) throw Error(EINVAL, "invalid URI '" + uri + "'");
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    } else {
        throw Error(EINVAL, "cannot connect to '" + uri + "': unknown scheme");
    }
    auto transport = std::make_unique<SocketTransport>(loop, fd); // owns fd from here on
    read_handshake(fd, uri);
    return transport;
}

} // namespace flux
