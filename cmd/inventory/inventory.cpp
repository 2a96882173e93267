#include "cmd/inventory/inventory.hpp"

#include <flux/resource_protocol.hpp>

#include <cerrno>
#include <cstdlib>

namespace flux::inventory {

Inventory::Inventory(JsonView status, JsonView config) : queues_(config), config_(config.copy()) {
    const auto& all = sets_["all"] = decode(status.get<JsonView>("all"));
    const auto& down = sets_["down"] = decode(status.get<JsonView>("down"));
    const auto& allocated = sets_["allocated"] = decode(status.get<JsonView>("allocated"));
    sets_["up"] = all.without(down);
    sets_["free"] = all.without(down).without(allocated);
}

const ResourceSet& Inventory::of(const std::string& state) const {
    auto found = sets_.find(state);
    if (found == sets_.end()) throw Error(EINVAL, "Invalid resource state " + state + " specified");
    return found->second;
}

Inventory Inventory::copy() const {
    Inventory other;
    other.sets_ = sets_;
    other.queues_ = queues_;
    other.config_ = config_.copy();
    return other;
}

void Inventory::restrict(const Idset& ranks) {
    for (auto& [name, set] : sets_) set = set.copy_ranks(ranks & set.ranks());
}

ResourceSet decode(JsonView R) {
    // An empty set is written with one empty host name, which no rank has.
    if (R["execution"]["R_lite"].empty()) return {};
    return ResourceSet::decode(R);
}

Task<Message> sched_status(Handle* handle) {
    const char* other = std::getenv("FLUX_RESOURCE_LIST_RPC");
    std::string topic(resource_protocol::sched_status.topic);
    if (other) topic = other;
    auto leader = CallOptions().rank(0);
    try {
        co_return co_await handle->call(topic, leader);
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS || other) throw;
    }
    co_return co_await handle->call("sched.resource-status", leader);
}

Task<int> fetch_inventory(Handle* handle, Inventory* inventory) {
    auto config_call = handle->call("config.get");
    auto status = co_await sched_status(handle);
    auto config = co_await config_call;
    *inventory = Inventory(status.json(), config.json());
    co_return 0;
}

} // namespace flux::inventory
