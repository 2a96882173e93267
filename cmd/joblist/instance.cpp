#include "cmd/joblist/instance.hpp"

#include <flux/job_list_protocol.hpp>

#include <array>
#include <utility>

namespace flux::joblist {
namespace {

using output::Absent;
using Names = std::pair<std::string_view, std::string_view>;

constexpr std::string_view resources_prefix = "resources.";
constexpr std::array<Names, 3> quantities = {{{"nnodes", "node"}, {"ncores", "core"}, {"ngpus", "gpu"}}};
constexpr std::array<Names, 4> states = {{{"up", "UP"}, {"down", "DOWN"}, {"allocated", "USED"}, {"free", "FREE"}}};
constexpr std::array<Names, 5> headings = {{{"stats", "STATS"},
                                            {"stats.total", "NJOBS"},
                                            {"utilization", "CORE%"},
                                            {"gpu_utilization", "GPU%"},
                                            {"progress", "PROG"}}};

std::string_view look_up(const auto& table, std::string_view name) {
    for (const auto& [key, value] : table)
        if (key == name) return value;
    return {};
}

/// `resources.STATE.QUANTITY`, taken apart; empty parts for anything else.
std::pair<std::string_view, std::string_view> resource_field(std::string_view name) {
    if (!name.starts_with(resources_prefix)) return {};
    name.remove_prefix(resources_prefix.size());
    auto dot = name.find('.');
    if (dot == name.npos) return {};
    auto state = name.substr(0, dot), quantity = name.substr(dot + 1);
    const bool known = state == "all" || !look_up(states, state).empty();
    if (!known || look_up(quantities, quantity).empty()) return {};
    return {state, quantity};
}

} // namespace

Task<> Instance::ask(Handle* handle, Instance* instance) {
    auto stats = handle->call(job_list_protocol::job_stats.topic, Json::object());
    try {
        auto resources = co_await inventory::sched_status(handle);
        instance->resources_.emplace(resources.json(), Json::object());
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        // An instance that ends, or without a scheduler: that is not known of it.
    }
    try {
        auto answer = co_await stats;
        instance->stats_.emplace(answer.json());
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        // As above.
    }
}

output::Value Instance::share_in_use(std::string_view quantity) const {
    if (!resources_) return Absent();
    auto all = resources_->of("all").count(quantity);
    if (all == 0) return Absent();
    return static_cast<double>(resources_->of("allocated").count(quantity)) / static_cast<double>(all);
}

output::Value Instance::field(std::string_view name) const {
    if (name == "utilization") return share_in_use("core");
    if (name == "gpu_utilization") return share_in_use("gpu");
    if (auto [state, quantity] = resource_field(name); !state.empty()) {
        if (!resources_) return Absent();
        return static_cast<std::int64_t>(resources_->of(std::string(state)).count(look_up(quantities, quantity)));
    }
    if (!stats_) return Absent();
    if (name == "stats") return stats_->brief();
    if (name == "stats.total") return stats_->total;
    if (stats_->total == 0) return Absent();
    return static_cast<double>(stats_->inactive) / static_cast<double>(stats_->total); // progress
}

std::optional<std::string> instance_heading(std::string_view name) {
    if (auto text = look_up(headings, name); !text.empty()) return std::string(text);
    auto [state, quantity] = resource_field(name);
    if (state.empty()) return std::nullopt;
    if (state != "all") return std::string(look_up(states, state));
    return quantity == "nnodes" ? "NODES" : quantity == "ncores" ? "CORES" : "GPUS";
}

} // namespace flux::joblist
