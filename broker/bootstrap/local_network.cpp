#include "broker/bootstrap/local_network.hpp"

#include <flux/error.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <sstream>
#include <unistd.h>

namespace flux::broker {
namespace {

bool is_ipv6(const std::string& number) { return number.find(':') != number.npos; }

/// Address text, or nothing for what cannot be told to others: other families, and IPv6 that needs a scope.
std::string number_of(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = {};
    if (address && address->sa_family == AF_INET) {
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
    } else if (address && address->sa_family == AF_INET6) {
        const auto& ipv6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        if (!IN6_IS_ADDR_LINKLOCAL(&ipv6)) ::inet_ntop(AF_INET6, &ipv6, text, sizeof text);
    }
    return text;
}

/// The first number of the preferred family, else the first at all.
std::optional<std::string> best(const std::vector<std::string>& numbers, bool prefer_ipv6) {
    for (const auto& number : numbers) {
        if (is_ipv6(number) == prefer_ipv6) return number;
    }
    return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

class Ipv4Network {
public:
    static std::optional<Ipv4Network> parse(std::string_view text) {
        auto slash = text.find('/');
        if (slash == text.npos) return std::nullopt;
        auto bits = parse_integer<unsigned>(text.substr(slash + 1));
        in_addr address;
        if (!bits || *bits > 32 || ::inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &address) != 1)
            return std::nullopt;
        Ipv4Network network;
        network.mask_ = *bits == 0 ? 0 : ~std::uint32_t{0} << (32 - *bits);
        network.base_ = ntohl(address.s_addr) & network.mask_;
        return network;
    }
    bool contains(const std::string& number) const {
        in_addr address;
        return ::inet_pton(AF_INET, number.c_str(), &address) == 1 && (ntohl(address.s_addr) & mask_) == base_;
    }

private:
    std::uint32_t base_ = 0;
    std::uint32_t mask_ = 0;
};

} // namespace

std::vector<std::string> default_interfaces(std::string_view routes) {
    std::vector<std::pair<unsigned long, std::string>> found;
    std::istringstream lines{std::string(routes)};
    std::string line;
    std::getline(lines, line); // the names of the columns
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string interface, destination, gateway, mask;
        unsigned long flags = 0, references = 0, uses = 0, metric = 0;
        words >> interface >> destination >> gateway >> std::hex >> flags >> std::dec >> references >> uses >> metric >>
            mask;
        if (words && destination == "00000000" && mask == "00000000") found.emplace_back(metric, interface);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> result;
    for (auto& [metric, interface] : found) result.push_back(std::move(interface));
    return result;
}

LocalNetwork LocalNetwork::read() {
    LocalNetwork network;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) < 0) throw Error(errno, fmt::format("getifaddrs: {}", errno_text(errno)));
    std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
    for (auto* entry = list; entry; entry = entry->ifa_next) {
        auto number = number_of(entry->ifa_addr);
        if (!number.empty() && (entry->ifa_flags & IFF_UP)) network.addresses.push_back({entry->ifa_name, number});
    }
    std::ifstream file("/proc/net/route");
    std::stringstream routes;
    routes << file.rdbuf();
    network.default_interfaces = broker::default_interfaces(routes.str());
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name, nullptr, &hints, &found) == 0) {
        std::unique_ptr<addrinfo, void (*)(addrinfo*)> numbers(found, ::freeaddrinfo);
        for (auto* entry = found; entry; entry = entry->ai_next) {
            if (auto number = number_of(entry->ai_addr); !number.empty()) network.host_numbers.push_back(number);
        }
    }
    return network;
}

std::string LocalNetwork::choose(std::string_view hint, bool prefer_ipv6) const {
    auto of_interface = [this](std::string_view name) {
        std::vector<std::string> numbers;
        for (const auto& address : addresses) {
            if (address.interface == name) numbers.push_back(address.number);
        }
        return numbers;
    };
    std::vector<std::string> candidates;
    if (hint == "default-route") {
        for (const auto& interface : default_interfaces) {
            candidates = of_interface(interface);
            if (!candidates.empty()) break;
        }
        if (candidates.empty()) candidates = host_numbers;
        // A machine without any network can still have an instance of its own.
        for (const auto& address : addresses) {
            if (candidates.empty()) candidates.push_back(address.number);
        }
    } else if (hint == "hostname") {
        candidates = host_numbers;
    } else if (auto network = Ipv4Network::parse(hint)) {
        for (const auto& address : addresses) {
            if (network->contains(address.number)) candidates.push_back(address.number);
        }
    } else {
        candidates = of_interface(hint);
    }
    if (auto number = best(candidates, prefer_ipv6)) return *number;
    throw Error(EINVAL, fmt::format("tbon.interface-hint: this host has no address for '{}'", hint));
}

} // namespace flux::broker
