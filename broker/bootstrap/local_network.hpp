// The addresses of this host, and which of them is told to others (broker.md 7.5, `tbon.interface-hint`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::broker {

class LocalNetwork {
public:
    struct Address {
        std::string interface;
        std::string number; ///< as text, IPv4 or IPv6
        bool operator==(const Address&) const = default;
    };

    LocalNetwork() {}
    /// What the system tells now. \throws Error
    static LocalNetwork read();

    std::vector<Address> addresses;
    std::vector<std::string> default_interfaces; ///< of the default routes, the cheapest first
    std::vector<std::string> host_numbers;       ///< what the host name resolves to

    /// The address to tell.
    /// \param hint  `default-route`, `hostname`, an interface, or an IPv4 network as `10.0.0.0/8`.
    /// \throws Error EINVAL naming the hint when nothing fits
    std::string choose(std::string_view hint, bool prefer_ipv6) const;
};

/// Interfaces of the default routes in a text as in `/proc/net/route`, the one with the lowest metric first.
std::vector<std::string> default_interfaces(std::string_view routes);

} // namespace flux::broker
