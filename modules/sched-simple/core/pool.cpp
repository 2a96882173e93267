#include "core/pool.hpp"

#include <algorithm>
#include <cerrno>

namespace flux::sched {
namespace {

using Word = Inventory::Word;

std::uint32_t popcount(std::span<const Word> words) noexcept {
    std::uint32_t sum = 0;
    for (auto word : words) sum += static_cast<std::uint32_t>(std::popcount(word));
    return sum;
}

// Moves the `count` lowest bits of `from` to `to`.
void move_lowest(std::span<Word> from, std::span<Word> to, std::uint64_t count) noexcept {
    for (std::size_t word = 0; count > 0 && word < from.size(); ++word) {
        if (static_cast<std::uint64_t>(std::popcount(from[word])) <= count) {
            count -= static_cast<std::uint64_t>(std::popcount(from[word]));
            to[word] |= std::exchange(from[word], 0);
            continue;
        }
        for (; count > 0; --count) {
            auto lowest = from[word] & -from[word];
            from[word] &= ~lowest;
            to[word] |= lowest;
        }
    }
}

} // namespace

Pool::Pool(ResourceSet resources)
    : inventory_(std::make_shared<const Inventory>(std::move(resources))),
      idle_(inventory_->size()),
      by_type_(inventory_->types().size(), NodeSet(inventory_->size())) {
    nodes_.reserve(inventory_->size());
    free_.reserve(inventory_->size() * inventory_->words());
    for (std::uint32_t node = 0; node < inventory_->size(); ++node) {
        const auto& type = inventory_->type(node);
        nodes_.push_back({static_cast<std::uint32_t>(type.cores.size()), static_cast<std::uint32_t>(type.gpus.size())});
        free_.insert(free_.end(), type.all.begin(), type.all.end());
        by_type_[inventory_->type_index(node)].set(node);
    }
}

std::span<Word> Pool::free_words(std::uint32_t node) noexcept {
    return std::span(free_).subspan(node * inventory_->words(), inventory_->words());
}

std::span<const Word> Pool::free_words(std::uint32_t node) const noexcept {
    return std::span(free_).subspan(node * inventory_->words(), inventory_->words());
}

bool Pool::is_idle(std::uint32_t node) const noexcept {
    const auto& type = inventory_->type(node);
    return nodes_[node].free_cores == type.cores.size() && nodes_[node].free_gpus == type.gpus.size();
}

void Pool::index(std::uint32_t node) {
    const auto& state = nodes_[node];
    if (!state.up || state.removed) return;
    Level level{state.free_cores, state.free_gpus};
    auto found = index_.find(level);
    if (found == index_.end()) {
        if (spare_.empty()) spare_.emplace_back(inventory_->size());
        found = index_.emplace(level, std::move(spare_.back())).first;
        spare_.pop_back();
    }
    found->second.set(node);
    if (is_idle(node)) idle_.set(node);
}

void Pool::unindex(std::uint32_t node) {
    const auto& state = nodes_[node];
    if (!state.up || state.removed) return;
    auto found = index_.find({state.free_cores, state.free_gpus});
    found->second.reset(node);
    idle_.reset(node);
    if (!found->second.empty()) return;
    spare_.push_back(std::move(found->second));
    index_.erase(found);
}

void Pool::set_up(const Idset& ranks, bool up) {
    inventory_->visit(ranks, [&](std::uint32_t node) {
        unindex(node);
        nodes_[node].up = up;
        index(node);
    });
}

void Pool::mark_up(const Idset& ranks) { set_up(ranks, true); }
void Pool::mark_down(const Idset& ranks) { set_up(ranks, false); }

void Pool::remove(const Idset& ranks) {
    inventory_->visit(ranks, [&](std::uint32_t node) {
        unindex(node);
        nodes_[node].removed = true;
        by_type_[inventory_->type_index(node)].reset(node);
    });
}

NodeSet Pool::admitted(const Constraint& constraint) const {
    NodeSet result(inventory_->size());
    inventory_->visit(constraint.select(inventory_->resources()), [&](std::uint32_t node) { result.set(node); });
    return result;
}

void Pool::recount(std::uint32_t node) noexcept {
    std::span<const Word> words = free_words(node);
    nodes_[node].free_cores = popcount(words.first(inventory_->core_words()));
    nodes_[node].free_gpus = popcount(words.subspan(inventory_->core_words()));
}

Allocation Pool::take(std::vector<Pick> picks) {
    std::sort(picks.begin(), picks.end(), [](const Pick& a, const Pick& b) { return a.node < b.node; });
    auto core_words = inventory_->core_words();
    Allocation result;
    result.nodes.reserve(picks.size());
    result.bits.resize(picks.size() * inventory_->words());
    for (const auto& pick : picks) {
        auto bits = std::span(result.bits).subspan(result.nodes.size() * inventory_->words(), inventory_->words());
        auto words = free_words(pick.node);
        unindex(pick.node);
        move_lowest(words.first(core_words), bits.first(core_words), pick.cores);
        move_lowest(words.subspan(core_words), bits.subspan(core_words), pick.gpus);
        recount(pick.node);
        index(pick.node);
        result.nodes.push_back(pick.node);
    }
    return result;
}

Allocation Pool::book(const ResourceSet& R) {
    struct Part {
        std::uint32_t node;
        std::vector<Word> bits;
    };
    std::vector<Part> parts;
    for (const auto& group : R.groups()) {
        std::map<std::uint32_t, std::vector<Word>> by_type;
        inventory_->visit(group.ranks, [&](std::uint32_t node) {
            auto type = inventory_->type_index(node);
            auto found = by_type.find(type);
            if (found == by_type.end())
                found = by_type.emplace(type, inventory_->bits(inventory_->types()[type], group.children)).first;
            auto words = free_words(node);
            for (std::size_t word = 0; word < words.size(); ++word)
                if (found->second[word] & ~words[word])
                    throw Error(EEXIST, "resources of rank " + std::to_string(inventory_->rank(node)) + " are in use");
            parts.push_back({node, found->second});
        });
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.node < b.node; });
    Allocation result;
    result.nslots = static_cast<std::uint64_t>(R.nslots);
    for (const auto& [node, bits] : parts) {
        unindex(node);
        auto words = free_words(node);
        for (std::size_t word = 0; word < words.size(); ++word) words[word] &= ~bits[word];
        recount(node);
        index(node);
        result.nodes.push_back(node);
        result.bits.insert(result.bits.end(), bits.begin(), bits.end());
    }
    return result;
}

void Pool::release(const Allocation& allocation) {
    auto bits = allocation.bits.begin();
    for (auto node : allocation.nodes) {
        unindex(node);
        for (auto& word : free_words(node)) word |= *bits++;
        recount(node);
        index(node);
    }
}

Idset Pool::release(Allocation& allocation, const Idset& ranks) {
    Allocation kept, freed;
    kept.nslots = allocation.nslots;
    auto left = ranks;
    auto words = static_cast<std::ptrdiff_t>(inventory_->words());
    auto bits = allocation.bits.begin();
    for (auto node : allocation.nodes) {
        bool named = ranks.test(inventory_->rank(node));
        auto& into = named ? freed : kept;
        into.nodes.push_back(node);
        into.bits.insert(into.bits.end(), bits, bits + words);
        bits += words;
        if (named) left.clear(inventory_->rank(node));
    }
    release(freed);
    allocation = std::move(kept);
    // Ranks that the instance does not have are nobody's.
    return left & inventory_->resources().ranks();
}

ResourceSet Pool::describe(const Allocation& allocation) const {
    std::vector<ResourceSet::Group> parts;
    std::span<const Word> last;
    std::uint32_t last_type = 0;
    for (std::size_t at = 0; at < allocation.nodes.size(); ++at) {
        auto node = allocation.nodes[at];
        auto bits = std::span(allocation.bits).subspan(at * inventory_->words(), inventory_->words());
        auto type = inventory_->type_index(node);
        // Neighbours mostly look alike.
        if (parts.empty() || type != last_type || !std::equal(bits.begin(), bits.end(), last.begin()))
            parts.push_back({{}, inventory_->children(inventory_->types()[type], bits)});
        parts.back().ranks.set(inventory_->rank(node));
        last = bits;
        last_type = type;
    }
    auto result = inventory_->resources().carve(parts);
    result.nslots = static_cast<std::int64_t>(allocation.nslots);
    return result;
}

ResourceSet Pool::all() const {
    Idset removed;
    for (std::uint32_t node = 0; node < inventory_->size(); ++node)
        if (nodes_[node].removed) removed.set(inventory_->rank(node));
    auto result = inventory_->resources();
    result.remove_ranks(removed);
    return result;
}

ResourceSet Pool::down() const {
    Idset ranks;
    for (std::uint32_t node = 0; node < inventory_->size(); ++node)
        if (!nodes_[node].up && !nodes_[node].removed) ranks.set(inventory_->rank(node));
    return inventory_->resources().copy_ranks(ranks);
}

ResourceSet Pool::allocated() const {
    Allocation held;
    for (std::uint32_t node = 0; node < inventory_->size(); ++node) {
        if (nodes_[node].removed || is_idle(node)) continue;
        held.nodes.push_back(node);
        auto free = free_words(node);
        for (std::size_t word = 0; word < free.size(); ++word)
            held.bits.push_back(inventory_->type(node).all[word] & ~free[word]);
    }
    return describe(held);
}

} // namespace flux::sched
