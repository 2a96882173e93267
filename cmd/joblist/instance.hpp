// What a job that is an instance tells of itself: the fields `instance.*` of listings.
#pragma once

#include "cmd/inventory/inventory.hpp"
#include "cmd/joblist/stats.hpp"
#include "cmd/output/value.hpp"

#include <flux/handle.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace flux::joblist {

class Instance {
public:
    /// Ask the instance that the handle leads to. What it does not tell stays unknown.
    static Task<> ask(Handle* handle, Instance* instance);

    /// A field, named as after `instance.`
    output::Value field(std::string_view name) const;
    const std::optional<Stats>& stats() const noexcept { return stats_; }

private:
    output::Value share_in_use(std::string_view quantity) const;

    std::optional<Stats> stats_;
    std::optional<inventory::Inventory> resources_;
};

/// Heading of a field named as after `instance.`; nothing when there is no such field.
std::optional<std::string> instance_heading(std::string_view name);

} // namespace flux::joblist
