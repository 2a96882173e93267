// What the scheduler has, by state, and the queues that may use it.
#pragma once

#include "cmd/inventory/queues.hpp"

#include <flux/handle.hpp>
#include <flux/json.hpp>

#include <map>
#include <string>

namespace flux::inventory {

class Inventory {
public:
    Inventory() {}
    /// \param status  of `resource.sched-status`.
    Inventory(JsonView status, JsonView config);

    /// `all`, `up`, `down`, `allocated` or `free`. \throws Error EINVAL `Invalid resource state X specified`
    const ResourceSet& of(const std::string& state) const;
    Inventory copy() const;
    /// Keep some ranks only.
    void restrict(const Idset& ranks);
    const Queues& queues() const noexcept { return queues_; }
    JsonView config() const noexcept { return config_; }

private:
    std::map<std::string, ResourceSet> sets_;
    Queues queues_;
    Json config_;
};

/// A set of resources where absent ones are told with an empty host name.
ResourceSet decode(JsonView R);

/// What the scheduler has, asked of the instance that a handle leads to; older ones know it by another name.
Task<Message> sched_status(Handle* handle);
Task<int> fetch_inventory(Handle* handle, Inventory* inventory);

} // namespace flux::inventory
