// The heartbeat (broker.md 8.3): an event that paces work on every rank and shows that the way to rank 0 is alive.
#pragma once

#include <flux/handle.hpp>

namespace flux::heartbeat_protocol {

/// Event without payload, published by rank 0 each period.
inline constexpr const char* pulse = "heartbeat.pulse";
/// → `{period, timeout, count, warn_thresh}`; times in seconds, count of pulses published or received.
inline constexpr Method stats_get{"heartbeat.stats-get", MethodClass::read};

} // namespace flux::heartbeat_protocol
