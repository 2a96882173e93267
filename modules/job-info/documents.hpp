// What the eventlog of a job says about its other keys.
#pragma once

#include <flux/eventlog.hpp>

#include <cstdint>
#include <string_view>

namespace flux::job_info {

/// Whether `event` changes the document at `key` (`R` or `jobspec`).
bool is_update(std::string_view key, const EventlogEntry& event);
/// Make that change. \throws Error EINVAL when it does not fit
void apply_update(std::string_view key, const Json& document, const EventlogEntry& event);

/// Whose job it is, by its main log. \throws Error EINVAL
std::uint32_t owner_of(const EventlogEntry& submit);
std::uint32_t owner_of(std::string_view eventlog);

} // namespace flux::job_info
