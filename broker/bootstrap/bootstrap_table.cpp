#include "broker/bootstrap/bootstrap_table.hpp"

#include <flux/hostlist.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <sys/un.h>

namespace flux::broker {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(EINVAL, "Config file error [bootstrap]: " + why); }

void refuse_other_keys(JsonView table, std::initializer_list<std::string_view> known) {
    for (auto [key, value] : table.members()) {
        if (std::find(known.begin(), known.end(), key) == known.end())
            throw Error(EINVAL, fmt::format("unknown key '{}'", key));
    }
}

void take_missing(std::string& into, JsonView entry, std::string_view key) {
    auto value = entry.get_or<std::string>(key, "");
    if (into.empty()) into = std::move(value);
}

} // namespace

bool is_host_name(std::string_view name) noexcept {
    constexpr std::size_t name_max = 255, label_max = 63;
    if (name.empty() || name.size() > name_max) return false;
    while (true) {
        auto label = name.substr(0, name.find('.'));
        if (label.empty() || label.size() > label_max || label.front() == '-' || label.back() == '-') return false;
        for (unsigned char c : label) {
            if (!std::isalnum(c) && c != '-') return false;
        }
        if (label.size() == name.size()) return true;
        name.remove_prefix(label.size() + 1);
    }
}

BootstrapTable::BootstrapTable(JsonView table) {
    try {
        if (!table.is_object()) throw Error(EINVAL, fmt::format("expected a table, got {}", table.type_name()));
        refuse_other_keys(table, {"hosts", "default_bind", "default_connect", "default_port", "curve_cert",
                                  "curve_cert_next", "enable_ipv6"});
        default_bind_ = table.get_or<std::string>("default_bind", "");
        default_connect_ = table.get_or<std::string>("default_connect", "");
        if (table.contains("default_port")) {
            auto port = table.get<std::int64_t>("default_port");
            if (port < 0 || port > 65535) throw Error(EINVAL, "default_port must be in the range of 0-65535");
            default_port_ = static_cast<int>(port);
        }
        curve_cert_ = table.get_or<std::string>("curve_cert", "");
        curve_cert_next_ = table.get_or<std::string>("curve_cert_next", "");
        table.get_or("enable_ipv6", false); // links take the family that a name or number has
    } catch (const Error& error) {
        refuse(error.what());
    }
    auto entries = table["hosts"];
    if (entries && !entries.is_array()) refuse("hosts must be an array of tables");
    for (std::size_t index = 0; index < entries.size(); ++index) {
        try {
            add_entry(entries[index]);
        } catch (const Error& error) {
            refuse(fmt::format("invalid hosts[{}]: {}", index, error.what()));
        }
    }
    if (size() > 1 && curve_cert_.empty()) refuse("curve_cert must be defined for size > 1");
}

void BootstrapTable::add_entry(JsonView entry) {
    if (!entry.is_object()) throw Error(EINVAL, fmt::format("expected a table, got {}", entry.type_name()));
    refuse_other_keys(entry, {"host", "bind", "connect", "parent"});
    for (const auto& name : Hostlist::parse(entry.get<std::string>("host"))) {
        if (!is_host_name(name)) throw Error(EINVAL, fmt::format("'{}' is no host name", name));
        auto [found, fresh] = ranks_.emplace(name, static_cast<std::uint32_t>(hosts_.size()));
        if (hosts_.size() == max_hosts && fresh) throw Error(EINVAL, "too many hosts");
        if (fresh) hosts_.push_back({.name = name});
        auto& host = hosts_[found->second];
        take_missing(host.bind, entry, "bind");
        take_missing(host.connect, entry, "connect");
        take_missing(host.parent, entry, "parent");
    }
}

std::uint32_t BootstrapTable::rank_of(const std::string& host) const {
    if (hosts_.empty()) return 0;
    auto found = ranks_.find(host);
    if (found == ranks_.end()) refuse(host + " not found in hosts");
    return found->second;
}

std::vector<std::uint32_t> BootstrapTable::parents() const {
    std::vector<std::uint32_t> result(size(), 0);
    for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) {
        const auto& host = hosts_[rank];
        if (host.parent.empty()) continue;
        if (rank == 0) refuse(fmt::format("{}: rank 0 must have no parent", host.name));
        auto found = ranks_.find(host.parent);
        if (found == ranks_.end()) refuse(fmt::format("{}: parent {} not found in hosts", host.name, host.parent));
        if (found->second == rank) refuse(fmt::format("{}: a host cannot be its own parent", host.name));
        result[rank] = found->second;
    }
    // Walking up from each rank, ranks that are known to lead to rank 0 end the walk.
    std::vector<bool> rooted(result.size(), false);
    rooted[0] = true;
    std::vector<std::uint32_t> path;
    for (std::uint32_t rank = 1; rank < result.size(); ++rank) {
        path.clear();
        for (auto at = rank; !rooted[at]; at = result[at]) {
            if (path.size() == result.size()) refuse(fmt::format("{}: parents form a cycle", hosts_[rank].name));
            path.push_back(at);
        }
        for (auto at : path) rooted[at] = true;
    }
    return result;
}

std::string BootstrapTable::bind_uri(std::uint32_t rank) const {
    const auto& host = hosts_.at(rank);
    return uri("bind", host.bind, default_bind_, host);
}

std::string BootstrapTable::connect_uri(std::uint32_t rank) const {
    const auto& host = hosts_.at(rank);
    return uri("connect", host.connect, default_connect_, host);
}

std::string BootstrapTable::uri(const char* key, const std::string& own, const std::string& fallback,
                                const Host& host) const {
    const auto& text = own.empty() ? fallback : own;
    if (text.empty())
        refuse(fmt::format("{}: {} and default_{} are undefined, but it has children", host.name, key, key));
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            result += text[at];
            continue;
        }
        switch (++at < text.size() ? text[at] : '\0') {
        case 'h': result += host.name; break;
        case 'p': result += std::to_string(default_port_); break;
        case '%': result += '%'; break;
        default: refuse(fmt::format("{} '{}': unknown token after %", key, text));
        }
    }
    constexpr std::string_view ipc = "ipc://";
    if (result.starts_with(ipc)) {
        if (result.size() - ipc.size() >= sizeof sockaddr_un{}.sun_path)
            refuse(fmt::format("{} '{}': the path is too long", key, result));
    } else if (!result.starts_with("tcp://")) {
        refuse(fmt::format("{} '{}': must be a tcp or ipc URI", key, result));
    } else if (result.ends_with(":*")) {
        refuse(fmt::format("{} '{}': the port cannot be a wildcard", key, result));
    }
    return result;
}

} // namespace flux::broker
