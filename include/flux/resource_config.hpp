// The inventory that an administrator writes down: `[resource]` of the configuration.
#pragma once

#include <flux/resource_set.hpp>

#include <optional>

namespace flux {

/// R of `[[resource.config]]`: hosts get ranks in the order in which they appear.
/// \throws Error EINVAL `error parsing [resource.config] array: ...`
ResourceSet parse_resource_config(JsonView entries);

/// R as the table `[resource]` gives it, by `config` or else by the file `path`, with the content of the file
/// `scheduling` in it; nothing when it has neither. \throws Error
std::optional<ResourceSet> configured_resources(JsonView resource_table);

} // namespace flux
