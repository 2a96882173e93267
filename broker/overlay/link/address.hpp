// Where a broker listens or connects: `ipc://PATH` or `tcp://HOST:PORT`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flux::broker {

class Address {
public:
    enum class Kind { ipc, tcp };

    /// `ipc://PATH`, `tcp://HOST:PORT`, `tcp://[V6]:PORT`. HOST may be `*` (any) and, to listen, the name of a network
    /// interface; PORT may be `*`: the kernel's choice. \throws Error EINVAL naming the URI and what is wrong with it
    static Address parse(std::string_view uri);
    static Address ipc(std::string path);
    static Address tcp(std::string host, std::uint16_t port);

    Kind kind() const noexcept { return kind_; }
    /// Of ipc.
    const std::string& path() const noexcept { return name_; }
    /// Of tcp: name or number, without brackets.
    const std::string& host() const noexcept { return name_; }
    /// Of tcp; 0: any.
    std::uint16_t port() const noexcept { return port_; }
    /// The URI.
    std::string to_string() const;
    bool operator==(const Address&) const = default;

private:
    Address(Kind kind, std::string name, std::uint16_t port) : kind_(kind), name_(std::move(name)), port_(port) {}

    Kind kind_;
    std::string name_;
    std::uint16_t port_;
};

/// `HOST:PORT`, with brackets around a HOST that is an IPv6 address.
std::string host_and_port(std::string_view host, std::uint16_t port);

} // namespace flux::broker
