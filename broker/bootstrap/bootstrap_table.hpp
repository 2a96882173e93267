// The `[bootstrap]` table of the configuration (broker.md 7.3): the hosts of an instance in rank order and where their
// brokers meet. Plain values.
#pragma once

#include <flux/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flux::broker {

class BootstrapTable {
public:
    /// A short text must not cost its reader unbounded memory.
    static constexpr std::size_t max_hosts = std::size_t{1} << 20;

    struct Host {
        std::string name;
        std::string bind;    ///< as configured, tokens not replaced; empty: the default
        std::string connect; ///< the same
        std::string parent;  ///< host name; empty: rank 0
    };

    // Each throws Error EINVAL that begins with `Config file error [bootstrap]: `.

    /// \param table  the value of `bootstrap`.
    explicit BootstrapTable(JsonView table);

    /// In rank order.
    const std::vector<Host>& hosts() const noexcept { return hosts_; }
    /// A table without hosts is an instance of one broker.
    std::uint32_t size() const noexcept { return hosts_.empty() ? 1 : static_cast<std::uint32_t>(hosts_.size()); }
    std::uint32_t rank_of(const std::string& host) const;
    /// The parent of each rank, for topology `custom`; no cycles.
    std::vector<std::uint32_t> parents() const;
    /// Where the broker of a rank listens, and where its children find it; tokens are replaced.
    std::string bind_uri(std::uint32_t rank) const;
    std::string connect_uri(std::uint32_t rank) const;

    const std::string& curve_cert() const noexcept { return curve_cert_; }
    /// During a change of keys: the certificate that is trusted besides.
    const std::string& curve_cert_next() const noexcept { return curve_cert_next_; }

private:
    void add_entry(JsonView entry);
    std::string uri(const char* key, const std::string& own, const std::string& fallback, const Host& host) const;

    std::vector<Host> hosts_;
    std::unordered_map<std::string, std::uint32_t> ranks_;
    std::string default_bind_;
    std::string default_connect_;
    int default_port_ = -1;
    std::string curve_cert_;
    std::string curve_cert_next_;
};

/// RFC 1035: labels of letters, digits and `-`, joined by dots.
bool is_host_name(std::string_view name) noexcept;

} // namespace flux::broker
