// Service overlay of every broker, as far as modules and commands use it (broker.md 3.8).
#pragma once

#include <flux/handle.hpp>

namespace flux::overlay_protocol {

/// Stream, any role, of this broker: `{state:s, rank:i, host:s, since:f, reason?:s}`, and again at each change. State
/// `up`, or `held`: what wants to go to the leader waits, since `rank` on `host` is out of reach since that time
/// (seconds since the epoch).
inline constexpr Method path{"overlay.path", MethodClass::stream, role_user};
/// Event of a broker whose way to the leader was broken, for itself and those below: `{incarnation:s, rank:i}`. Events
/// were missed, and the leader may be another one, restarted from an older store: what was derived from either is void.
inline constexpr std::string_view resync_event = "overlay.resync";

} // namespace flux::overlay_protocol
