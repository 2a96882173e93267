// What is free where: the state that allocations change.
//
// Schedulable nodes are indexed by how much they have free, best first, so that an allocation looks at the nodes it
// takes and at no others. Nodes that are down or gone are not in the index, but what jobs hold on them stays booked.
#pragma once

#include "core/inventory.hpp"
#include "core/node_set.hpp"
#include "core/request.hpp"

#include <flux/constraint.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::sched {

/// Resources that one job holds.
struct Allocation {
    std::vector<std::uint32_t> nodes;  ///< ascending
    std::vector<Inventory::Word> bits; ///< Inventory::words() for each of them
    std::uint64_t nslots = 0;
};

/// Copies share the inventory: a copy is a sandbox for a simulation.
class Pool {
public:
    /// All nodes are down and free. \throws Error EINVAL
    explicit Pool(ResourceSet resources);

    const Inventory& inventory() const noexcept { return *inventory_; }

    // Ranks that are not in the inventory are ignored everywhere.
    void mark_up(const Idset& ranks);
    void mark_down(const Idset& ranks);
    /// The instance has lost these ranks for good.
    void remove(const Idset& ranks);

    /// The nodes that a constraint admits.
    NodeSet admitted(const Constraint& constraint) const;

    /// Takes the nodes with most free cores, then most free gpus, then the lowest rank, and the lowest ids there.
    /// Nothing when the request does not fit now. `mask`: the nodes that are admitted; null: all.
    std::optional<Allocation> allocate(const Request& request, const NodeSet* mask);
    /// Why the request does not even fit when every node is up and free, in the reference's words; empty when it does.
    std::string unsatisfiable(const Request& request, const NodeSet* mask) const;

    /// Takes what R names, as far as the inventory has it. \throws Error EEXIST when somebody holds some of it.
    Allocation book(const ResourceSet& R);
    void release(const Allocation& allocation);
    /// Gives back the nodes among `ranks`, which leave the allocation. Returns the ranks that were not in it.
    Idset release(Allocation& allocation, const Idset& ranks);

    /// R of an allocation, without times.
    ResourceSet describe(const Allocation& allocation) const;

    /// What the instance has, what of it is not up, and what is held by somebody.
    ResourceSet all() const;
    ResourceSet down() const;
    ResourceSet allocated() const;

private:
    using Word = Inventory::Word;
    /// How much a node has free; better levels come first in the index.
    struct Level {
        std::uint64_t cores;
        std::uint64_t gpus;
        auto operator<=>(const Level&) const = default;
    };
    using Index = std::map<Level, NodeSet, std::greater<>>;
    struct Node {
        std::uint32_t free_cores;
        std::uint32_t free_gpus;
        bool up = false;
        bool removed = false;
    };
    struct Pick {
        std::uint32_t node;
        std::uint64_t cores;
        std::uint64_t gpus;
    };

    std::span<Word> free_words(std::uint32_t node) noexcept;
    std::span<const Word> free_words(std::uint32_t node) const noexcept;
    bool is_idle(std::uint32_t node) const noexcept;
    void index(std::uint32_t node);
    void unindex(std::uint32_t node);
    void set_up(const Idset& ranks, bool up);
    void recount(std::uint32_t node) noexcept;

    /// How many slots of the request a node with this much free takes; 0: it is no candidate.
    static std::uint64_t slots_on(const Request& request, Level free) noexcept;
    template <class Visit> void visit_candidates(const Request& request, const NodeSet* mask, Visit&& visit) const;
    std::uint64_t fitting(const Request& request, const NodeSet* mask) const;
    std::vector<Pick> pick_nodes(const Request& request, const NodeSet* mask) const;
    std::vector<Pick> pick_slots(const Request& request, const NodeSet* mask) const;
    Allocation take(std::vector<Pick> picks);

    std::shared_ptr<const Inventory> inventory_;
    std::vector<Node> nodes_;
    std::vector<Word> free_;
    Index index_;                  // schedulable nodes by level; no level is empty
    std::vector<NodeSet> spare_;   // empty sets, for levels to come
    NodeSet idle_;                 // schedulable nodes with nothing allocated
    std::vector<NodeSet> by_type_; // nodes that are not removed
};

} // namespace flux::sched
