#include "broker/overlay/link/address.hpp"

#include <flux/error.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <netdb.h>
#include <sys/un.h>

namespace flux::broker {
namespace {

constexpr std::string_view ipc_scheme = "ipc://", tcp_scheme = "tcp://";

// Longest path that fits with its NUL.
constexpr std::size_t path_limit = sizeof(sockaddr_un::sun_path) - 1;

bool printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

[[noreturn]] void fail(std::string_view uri, std::string_view why) {
    throw Error(EINVAL, fmt::format("invalid address '{}': {}", uri, why));
}

} // namespace

Address Address::ipc(std::string path) { return {Kind::ipc, std::move(path), 0}; }
Address Address::tcp(std::string host, std::uint16_t port) { return {Kind::tcp, std::move(host), port}; }

Address Address::parse(std::string_view uri) {
    if (uri.starts_with(ipc_scheme)) {
        auto path = uri.substr(ipc_scheme.size());
        if (path.empty()) fail(uri, "the path is missing");
        if (path.size() > path_limit) fail(uri, fmt::format("the path is longer than {} bytes", path_limit));
        if (path.find('\0') != path.npos) fail(uri, "NUL in the path");
        return ipc(std::string(path));
    }
    if (!uri.starts_with(tcp_scheme)) fail(uri, "it must begin with tcp:// or ipc://");
    auto rest = uri.substr(tcp_scheme.size());
    auto colon = rest.rfind(':');
    if (colon == rest.npos || rest.ends_with(']')) fail(uri, "the port is missing");
    auto host = rest.substr(0, colon), port_text = rest.substr(colon + 1);
    if (host.starts_with('[')) {
        if (!host.ends_with(']')) fail(uri, "']' is missing after the host");
        host = host.substr(1, host.size() - 2);
        if (host.find(':') == host.npos) fail(uri, "brackets are for IPv6 addresses");
    } else if (host.find(':') != host.npos) {
        fail(uri, "an IPv6 address needs brackets");
    }
    if (host.empty()) fail(uri, "the host is missing");
    if (host.size() >= NI_MAXHOST) fail(uri, "the host is too long");
    if (!printable(host) || host.find_first_of("[]/") != host.npos) fail(uri, "the host has a foreign character");
    if (port_text == "*") return tcp(std::string(host), 0);
    auto port = parse_integer<std::uint16_t>(port_text);
    if (!port) fail(uri, "the port is no number from 0 to 65535");
    return tcp(std::string(host), *port);
}

std::string Address::to_string() const {
    if (kind_ == Kind::ipc) return fmt::format("{}{}", ipc_scheme, name_);
    return fmt::format("{}{}", tcp_scheme, host_and_port(name_, port_));
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
    if (host.find(':') == host.npos) return fmt::format("{}:{}", host, port);
    return fmt::format("[{}]:{}", host, port);
}

} // namespace flux::broker
