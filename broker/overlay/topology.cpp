#include "broker/overlay/topology.hpp"

#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace flux::broker {
namespace {

std::uint32_t parse_k(std::string_view scheme, std::string_view text) {
    std::uint32_t k = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), k);
    if (failure != std::errc() || end != text.data() + text.size())
        throw Error(EINVAL, std::string(scheme) + " k value must be an integer >= 0");
    return k;
}

// The smallest k that keeps every interior broker at no more than this many children.
constexpr std::uint32_t mincrit_limit = 1024;

std::uint32_t default_mincrit(std::uint32_t size) {
    if (size <= mincrit_limit + 1) return 0;
    for (std::uint32_t k = 2;; ++k) {
        if ((size - 1 - k + k - 1) / k <= mincrit_limit) return k;
    }
}

} // namespace

Topology::Topology(std::string_view text, std::uint32_t size) : parents_(std::max(size, 1u), 0) {
    auto colon = text.find(':');
    auto scheme = text.substr(0, colon);
    std::optional<std::string_view> argument;
    if (colon != std::string_view::npos) argument = text.substr(colon + 1);
    if (scheme == "kary") {
        if (!argument) throw Error(EINVAL, "kary k value must be an integer >= 0");
        auto k = parse_k("kary", *argument);
        for (std::uint32_t rank = 1; rank < size; ++rank) parents_[rank] = k == 0 ? 0 : (rank - 1) / k;
    } else if (scheme == "mincrit") {
        auto k = argument ? parse_k("mincrit", *argument) : default_mincrit(size);
        for (std::uint32_t rank = 1; rank < size; ++rank)
            parents_[rank] = k == 0 || rank <= k ? 0 : (rank - k - 1) % k + 1;
    } else if (scheme == "binomial" && !argument) {
        for (std::uint32_t rank = 1; rank < size; ++rank) parents_[rank] = rank & (rank - 1);
    } else {
        throw Error(EINVAL, "unknown topology scheme '" + std::string(text) + "'");
    }
    link();
}

Topology::Topology(std::vector<std::uint32_t> parents) : parents_(std::move(parents)) {
    if (parents_.empty()) parents_.push_back(0);
    for (std::uint32_t rank = 1; rank < size(); ++rank) {
        std::uint32_t at = rank;
        for (std::uint32_t steps = 0; at != 0; ++steps) {
            if (steps >= size() || parents_[at] >= size())
                throw Error(EINVAL, "topology: rank " + std::to_string(rank) + " does not lead to rank 0");
            at = parents_[at];
        }
    }
    link();
}

void Topology::link() {
    children_.resize(parents_.size());
    for (std::uint32_t rank = 1; rank < size(); ++rank) children_[parents_[rank]].push_back(rank);
}

std::optional<std::uint32_t> Topology::parent(std::uint32_t rank) const {
    if (rank == 0 || rank >= size()) return std::nullopt;
    return parents_[rank];
}

std::optional<std::uint32_t> Topology::next_hop(std::uint32_t from, std::uint32_t rank) const {
    if (rank >= size()) return std::nullopt;
    while (rank != 0) {
        auto above = parents_[rank];
        if (above == from) return rank;
        rank = above;
    }
    return std::nullopt;
}

std::uint32_t Topology::descendants(std::uint32_t rank) const {
    std::uint32_t count = 0;
    for (auto child : children_[rank]) count += 1 + descendants(child);
    return count;
}

std::uint32_t Topology::level(std::uint32_t rank) const {
    std::uint32_t result = 0;
    for (; rank != 0; rank = parents_[rank]) ++result;
    return result;
}

std::uint32_t Topology::max_level() const {
    std::uint32_t result = 0;
    for (std::uint32_t rank = 0; rank < size(); ++rank) result = std::max(result, level(rank));
    return result;
}

} // namespace flux::broker
