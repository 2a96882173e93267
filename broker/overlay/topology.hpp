// Who is whose parent in the tree of brokers (broker.md 7.2). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::broker {

class Topology {
public:
    /// \param scheme  `kary:K`, `mincrit[:K]`, `binomial`. \throws Error EINVAL naming what is wrong
    Topology(std::string_view scheme, std::uint32_t size);
    /// From a parent for each rank (`custom`); rank 0's entry is ignored. \throws Error EINVAL for a cycle
    explicit Topology(std::vector<std::uint32_t> parents);
    Topology() : Topology("kary:32", 1) {}

    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(parents_.size()); }
    /// Nothing for rank 0.
    std::optional<std::uint32_t> parent(std::uint32_t rank) const;
    const std::vector<std::uint32_t>& children(std::uint32_t rank) const { return children_[rank]; }
    /// The child of `from` below which `rank` lies; nothing when it is not below `from`.
    std::optional<std::uint32_t> next_hop(std::uint32_t from, std::uint32_t rank) const;
    /// Number of ranks below, without itself.
    std::uint32_t descendants(std::uint32_t rank) const;
    std::uint32_t level(std::uint32_t rank) const;
    std::uint32_t max_level() const;

private:
    void link();
    std::vector<std::uint32_t> parents_;
    std::vector<std::vector<std::uint32_t>> children_;
};

} // namespace flux::broker
