// Which nodes serve a request: now, and ever.
#include "core/pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flux::sched {

std::uint64_t Pool::slots_on(const Request& request, Level free) noexcept {
    auto slots = free.cores / request.slot_cores;
    if (request.slot_gpus > 0) slots = std::min(slots, free.gpus / request.slot_gpus);
    return slots;
}

// Best first: visit(node, what it has free) until it returns false.
template <class Visit> void Pool::visit_candidates(const Request& request, const NodeSet* mask, Visit&& visit) const {
    auto slots = request.by_node() ? request.slots_per_node : 1;
    for (const auto& [level, nodes] : index_) {
        // Levels are ordered by cores first: no later one has enough.
        if (level.cores < slots * request.slot_cores) return;
        if (level.gpus < slots * request.slot_gpus) continue;
        bool more = nodes.visit_common({mask, request.exclusive ? &idle_ : nullptr},
                                       [&](std::uint32_t node) { return visit(node, level); });
        if (!more) return;
    }
}

// How many nodes, or slots, could be had now.
std::uint64_t Pool::fitting(const Request& request, const NodeSet* mask) const {
    auto enough = request.by_node() ? request.nodes.max : request.slots.max;
    std::uint64_t sum = 0;
    for (const auto& [level, nodes] : index_) {
        if (level.cores < request.slot_cores) break;
        auto slots = slots_on(request, level);
        if (request.by_node()) slots = slots >= request.slots_per_node ? 1 : 0;
        if (slots > 0) sum += slots * nodes.count_common({mask, request.exclusive ? &idle_ : nullptr});
        if (sum >= enough) break;
    }
    return sum;
}

std::vector<Pool::Pick> Pool::pick_nodes(const Request& request, const NodeSet* mask) const {
    std::vector<Pick> picks;
    visit_candidates(request, mask, [&](std::uint32_t node, Level free) {
        if (request.exclusive)
            picks.push_back({node, free.cores, free.gpus});
        else
            picks.push_back({node, request.node_cores(), request.node_gpus()});
        return picks.size() < request.nodes.max;
    });
    return picks;
}

std::vector<Pool::Pick> Pool::pick_slots(const Request& request, const NodeSet* mask) const {
    std::vector<Pick> picks;
    auto wanted = request.slots.max;
    visit_candidates(request, mask, [&](std::uint32_t node, Level free) {
        auto slots = std::min(slots_on(request, free), wanted);
        picks.push_back({node, slots * request.slot_cores, slots * request.slot_gpus});
        wanted -= slots;
        return wanted > 0;
    });
    return picks;
}

std::optional<Allocation> Pool::allocate(const Request& request, const NodeSet* mask) {
    if (!request.unsupported.empty()) return std::nullopt;
    auto wanted = request.by_node() ? request.nodes : request.slots;
    auto available = fitting(request, mask);
    if (available < wanted.min) return std::nullopt;
    auto result = take(request.by_node() ? pick_nodes(request, mask) : pick_slots(request, mask));
    result.nslots = request.by_node() ? request.slots_per_node * result.nodes.size() : std::min(available, wanted.max);
    return result;
}

std::string Pool::unsatisfiable(const Request& request, const NodeSet* mask) const {
    if (!request.unsupported.empty()) return request.unsupported;
    std::uint64_t nodes = 0, slots = 0, core_slots = 0, cores = 0, gpus = 0;
    for (std::size_t at = 0; at < by_type_.size(); ++at) {
        const auto& type = inventory_->types()[at];
        Level whole{type.cores.size(), type.gpus.size()};
        std::uint64_t count = by_type_[at].count_common({mask});
        auto each = slots_on(request, whole);
        if (each >= request.slots_per_node) nodes += count;
        slots += count * each;
        core_slots += count * (whole.cores / request.slot_cores);
        cores += count * whole.cores;
        gpus += count * whole.gpus;
    }
    constexpr const char* prefix = "unsatisfiable request: ";
    if (request.by_node()) {
        if (nodes >= request.nodes.min) return {};
        if (request.exclusive)
            return fmt::format("{}need {} exclusive node(s), only {} eligible", prefix, request.nodes.min, nodes);
        auto with_gpus = request.slot_gpus > 0 ? fmt::format(" and {} GPUs", request.node_gpus()) : "";
        return fmt::format("{}need {} node(s) with {} cores{} each, only {} eligible", prefix, request.nodes.min,
                           request.node_cores(), with_gpus, nodes);
    }
    if (core_slots < request.slots.min)
        return fmt::format("{}need {} slot(s) of {} core(s), only {} such slot(s) available (total cores: {})", prefix,
                           request.slots.min, request.slot_cores, core_slots, cores);
    if (slots < request.slots.min)
        return fmt::format("{}need {} slot(s) with {} GPU(s) each, only {} available (total GPUs: {})", prefix,
                           request.slots.min, request.slot_gpus, slots, gpus);
    return {};
}

} // namespace flux::sched
