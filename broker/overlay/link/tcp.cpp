#include "broker/overlay/link/tcp.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <vector>

namespace flux::broker {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class SocketAddress {
public:
    SocketAddress() = default;
    SocketAddress(const sockaddr* address, socklen_t size) : size(size) { std::memcpy(&storage, address, size); }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const noexcept { return storage.ss_family; }
    std::string to_string() const {
        auto shown = plain();
        char host[NI_MAXHOST], port[NI_MAXSERV];
        if (::getnameinfo(shown.get(), shown.size, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            return "unknown";
        return host_and_port(host, static_cast<std::uint16_t>(std::atoi(port)));
    }

    sockaddr_storage storage{};
    socklen_t size = sizeof storage;

private:
    // An IPv4 address that an IPv6 socket has to do with, as such.
    SocketAddress plain() const {
        sockaddr_in6 wide{};
        if (family() == AF_INET6) std::memcpy(&wide, &storage, sizeof wide);
        if (family() != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&wide.sin6_addr)) return *this;
        sockaddr_in narrow{};
        narrow.sin_family = AF_INET;
        narrow.sin_port = wide.sin6_port;
        std::memcpy(&narrow.sin_addr, wide.sin6_addr.s6_addr + 12, sizeof narrow.sin_addr);
        return {reinterpret_cast<const sockaddr*>(&narrow), sizeof narrow};
    }
};

// getaddrinfo(3): its code, 0 for success.
int look_up(const std::string& host, std::uint16_t port, int flags, std::vector<SocketAddress>& found) {
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (code != 0) return code;
    for (auto* at = list; at; at = at->ai_next) found.emplace_back(at->ai_addr, at->ai_addrlen);
    ::freeaddrinfo(list);
    return 0;
}

// A look-up in a thread of its own, which may outlive whoever asked: a dead name server holds nobody up.
struct Lookup {
    FileDescriptor done{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    int code = 0;
    std::vector<SocketAddress> found;
};

std::shared_ptr<Lookup> start_lookup(const std::string& host, std::uint16_t port) {
    auto lookup = std::make_shared<Lookup>();
    if (!lookup->done) throw Error(errno, "eventfd");
    try {
        std::thread([lookup, host, port] {
            lookup->code = look_up(host, port, AI_ADDRCONFIG, lookup->found);
            ::eventfd_write(lookup->done.get(), 1);
        }).detach();
    } catch (const std::system_error& error) {
        throw Error(error.code().value(), "cannot start a thread for a name look-up");
    }
    return lookup;
}

Task<std::vector<SocketAddress>> resolve(Loop* loop, std::string host, std::uint16_t port, Deadline deadline) {
    std::vector<SocketAddress> found;
    if (look_up(host, port, AI_NUMERICHOST, found) == 0) co_return found;
    auto lookup = start_lookup(host, port);
    bool in_time = co_await ready(loop, lookup->done.get(), FdWatcher::readable, deadline);
    if (!in_time) throw Error(ETIMEDOUT, fmt::format("cannot resolve '{}': the look-up takes too long", host));
    eventfd_t count;
    ::eventfd_read(lookup->done.get(), &count); // makes the thread's writes visible here
    if (lookup->code != 0)
        throw Error(EHOSTUNREACH, fmt::format("cannot resolve '{}': {}", host, ::gai_strerror(lookup->code)));
    co_return std::move(lookup->found);
}

Task<FileDescriptor> connect_one(Loop* loop, SocketAddress target, Deadline deadline) {
    FileDescriptor socket(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) throw Error(errno, errno_text(errno));
    if (::connect(socket.get(), target.get(), target.size) == 0) co_return std::move(socket);
    if (errno != EINPROGRESS) throw Error(errno, errno_text(errno));
    bool in_time = co_await ready(loop, socket.get(), FdWatcher::writable, deadline);
    if (!in_time) throw Error(ETIMEDOUT, errno_text(ETIMEDOUT));
    int errnum = 0;
    socklen_t size = sizeof errnum;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &errnum, &size);
    if (errnum != 0) throw Error(errnum, errno_text(errnum));
    co_return std::move(socket);
}

std::optional<SocketAddress> interface_address(const std::string& name, std::uint16_t port) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) < 0) throw Error(errno, "cannot list the network interfaces");
    std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
    for (int family : {AF_INET, AF_INET6}) {
        for (auto* at = list; at; at = at->ifa_next) {
            if (!at->ifa_addr || at->ifa_addr->sa_family != family || name != at->ifa_name) continue;
            SocketAddress found(at->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
            if (family == AF_INET)
                reinterpret_cast<sockaddr_in*>(found.get())->sin_port = htons(port);
            else
                reinterpret_cast<sockaddr_in6*>(found.get())->sin6_port = htons(port);
            return found;
        }
    }
    return std::nullopt;
}

FileDescriptor listen_at(const SocketAddress& address) {
    FileDescriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        ::bind(socket.get(), address.get(), address.size) < 0 || ::listen(socket.get(), SOMAXCONN) < 0)
        throw Error(errno, errno_text(errno));
    return socket;
}

FileDescriptor listen_anywhere(std::uint16_t port) {
    std::vector<SocketAddress> any;
    look_up("::", port, AI_NUMERICHOST | AI_PASSIVE, any); // takes IPv4 too
    try {
        if (!any.empty()) return listen_at(any[0]);
    } catch (const Error& error) {
        if (error.errnum() != EAFNOSUPPORT && error.errnum() != EADDRNOTAVAIL) throw;
    }
    any.clear();
    look_up("0.0.0.0", port, AI_NUMERICHOST | AI_PASSIVE, any);
    return listen_at(any.at(0));
}

FileDescriptor listen_on_host(const std::string& host, std::uint16_t port) {
    if (host == "*") return listen_anywhere(port);
    std::vector<SocketAddress> numeric;
    if (look_up(host, port, AI_NUMERICHOST | AI_PASSIVE, numeric) == 0) return listen_at(numeric.at(0));
    if (auto address = interface_address(host, port)) return listen_at(*address);
    throw Error(EINVAL, fmt::format("'{}' is no address or network interface of this host", host));
}

} // namespace

FileDescriptor listen_tcp(const Address& address) {
    try {
        return listen_on_host(address.host(), address.port());
    } catch (const Error& error) {
        throw error.while_doing("cannot listen at " + address.to_string());
    }
}

std::uint16_t port_of(int fd) {
    SocketAddress own;
    if (::getsockname(fd, own.get(), &own.size) < 0) throw Error(errno, "getsockname");
    return ntohs(own.family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(own.get())->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(own.get())->sin_port);
}

std::string peer_name(int fd) {
    SocketAddress peer;
    if (::getpeername(fd, peer.get(), &peer.size) < 0) return "unknown";
    return peer.to_string();
}

void tune_tcp(int fd, std::chrono::milliseconds silence) noexcept {
    auto set = [fd](int level, int name, int value) noexcept { ::setsockopt(fd, level, name, &value, sizeof value); };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    if (silence <= 0ms) return;
    // An idle link is probed from half the limit on, so that silence shows within it.
    auto fraction = [&](int part) {
        auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silence / part).count();
        return static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 32767));
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, fraction(2));
    set(IPPROTO_TCP, TCP_KEEPINTVL, fraction(4));
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::min<std::int64_t>(silence.count(), INT32_MAX)));
}

Task<FileDescriptor> connect_tcp(Loop* loop, Address address, Deadline deadline) {
    std::optional<Error> failure;
    try {
        auto targets = co_await resolve(loop, address.host(), address.port(), deadline);
        for (std::size_t at = 0; at < targets.size(); ++at) {
            auto now = steady_clock::now();
            auto share = (deadline - now) / static_cast<std::int64_t>(targets.size() - at);
            try {
                co_return co_await connect_one(loop, targets[at], now + share);
            } catch (const Cancelled&) {
                throw;
            } catch (const Error& error) {
                failure = error.while_doing(targets[at].to_string());
            }
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure = error;
    }
    if (!failure) failure = Error(EHOSTUNREACH, "the host has no address");
    throw failure->while_doing("cannot connect to " + address.to_string());
}

Task<bool> ready(Loop* loop, int fd, int directions, Deadline deadline) {
    Condition changed;
    bool is_ready = false, late = false;
    FdWatcher watcher(*loop, fd, [&](int) {
        is_ready = true;
        watcher.watch(0);
        changed.notify_all();
    });
    Timer timer(*loop, [&] {
        late = true;
        changed.notify_all();
    });
    watcher.watch(directions);
    timer.start(deadline - steady_clock::now());
    while (!is_ready && !late) co_await changed.wait();
    co_return is_ready;
}

} // namespace flux::broker
