#include "core/inventory.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace flux::sched {
namespace {

// A short text can claim billions of ids; no machine has that many.
constexpr std::size_t max_nodes = std::size_t{1} << 20;
constexpr std::size_t max_ids = std::size_t{1} << 16;
constexpr std::size_t max_words = std::size_t{1} << 27;

std::size_t words_for(std::size_t bits) { return (bits + 63) / 64; }

void set_bit(std::span<Inventory::Word> words, std::size_t bit) { words[bit / 64] |= Inventory::Word{1} << (bit % 64); }

Idset ids_of(std::span<const Inventory::Word> words, const std::vector<Idset::Id>& ids) {
    Idset result;
    for (std::size_t word = 0; word < words.size(); ++word)
        for (auto bits = words[word]; bits != 0; bits &= bits - 1)
            result.set(ids[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))]);
    return result;
}

void set_ids(std::span<Inventory::Word> words, const std::vector<Idset::Id>& ids, const Idset& wanted) {
    for (auto range : wanted.ranges()) {
        auto first = std::lower_bound(ids.begin(), ids.end(), range.first);
        for (auto id = first; id != ids.end() && *id <= range.last; ++id)
            set_bit(words, static_cast<std::size_t>(id - ids.begin()));
    }
}

} // namespace

Inventory::Inventory(ResourceSet resources) : resources_(std::move(resources)) {
    auto nodes = resources_.nnodes();
    auto groups = resources_.groups();
    std::size_t cores = 0, gpus = 0;
    for (const auto& group : groups) {
        cores = std::max(cores, group.children["core"].count());
        gpus = std::max(gpus, group.children["gpu"].count());
    }
    core_words_ = words_for(cores);
    gpu_words_ = words_for(gpus);
    if (nodes > max_nodes || cores > max_ids || gpus > max_ids || nodes * words() > max_words)
        throw Error(EINVAL, "resource set is too large: " + std::to_string(nodes) + " nodes of up to " +
                                std::to_string(cores) + " cores and " + std::to_string(gpus) + " gpus");

    for (auto rank : resources_.ranks()) ranks_.push_back(rank);
    type_of_.resize(nodes);
    for (const auto& group : groups) {
        Type type;
        for (auto id : group.children["core"]) type.cores.push_back(id);
        for (auto id : group.children["gpu"]) type.gpus.push_back(id);
        type.all = bits(type, group.children);
        visit(group.ranks, [&](std::uint32_t node) { type_of_[node] = static_cast<std::uint32_t>(types_.size()); });
        types_.push_back(std::move(type));
    }
}

std::optional<std::uint32_t> Inventory::node(Idset::Id rank) const noexcept {
    auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    if (found == ranks_.end() || *found != rank) return std::nullopt;
    return static_cast<std::uint32_t>(found - ranks_.begin());
}

Children Inventory::children(const Type& type, std::span<const Word> bits) const {
    Children result;
    result.set("core", ids_of(bits.first(core_words_), type.cores));
    result.set("gpu", ids_of(bits.subspan(core_words_), type.gpus));
    return result;
}

std::vector<Inventory::Word> Inventory::bits(const Type& type, const Children& children) const {
    std::vector<Word> result(words());
    set_ids(std::span(result).first(core_words_), type.cores, children["core"]);
    set_ids(std::span(result).subspan(core_words_), type.gpus, children["gpu"]);
    return result;
}

} // namespace flux::sched
