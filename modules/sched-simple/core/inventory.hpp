// The nodes of an instance as the scheduler counts them. Never changes once made, so pools share it.
#pragma once

#include <flux/resource_set.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flux::sched {

/// Nodes are numbered by ascending rank. The cores of a node, then its gpus, are bits of its words, by ascending id.
class Inventory {
public:
    using Word = std::uint64_t;
    /// Nodes with equal children.
    struct Type {
        std::vector<Idset::Id> cores;
        std::vector<Idset::Id> gpus;
        std::vector<Word> all; // a bit for each core and gpu
    };

    /// \throws Error EINVAL when the set is beyond all reason.
    explicit Inventory(ResourceSet resources);

    const ResourceSet& resources() const noexcept { return resources_; }
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
    Idset::Id rank(std::uint32_t node) const noexcept { return ranks_[node]; }
    std::optional<std::uint32_t> node(Idset::Id rank) const noexcept;
    const std::vector<Type>& types() const noexcept { return types_; }
    std::uint32_t type_index(std::uint32_t node) const noexcept { return type_of_[node]; }
    const Type& type(std::uint32_t node) const noexcept { return types_[type_of_[node]]; }

    /// Words per node: those of cores, then those of gpus.
    std::size_t core_words() const noexcept { return core_words_; }
    std::size_t words() const noexcept { return core_words_ + gpu_words_; }

    /// Bits as ids and back; ids that the type has not are left out.
    Children children(const Type& type, std::span<const Word> bits) const;
    std::vector<Word> bits(const Type& type, const Children& children) const;

    /// Calls `visit(node)` for the known ones among `ranks`.
    template <class Visit> void visit(const Idset& ranks, Visit&& visit) const {
        for (auto rank : ranks& resources_.ranks()) visit(*node(rank));
    }

private:
    ResourceSet resources_;
    std::vector<Idset::Id> ranks_;
    std::vector<std::uint32_t> type_of_;
    std::vector<Type> types_;
    std::size_t core_words_ = 0;
    std::size_t gpu_words_ = 0;
};

} // namespace flux::sched
