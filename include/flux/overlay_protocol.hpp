// Service overlay of every broker, as far as modules and commands use it (broker.md 3.8).
#pragma once

#include <flux/handle.hpp>

namespace flux::overlay_protocol {

/// Stream, any role, of this broker: `{state:s, rank:i, host:s, since:f, reason?:s, silent?:b}`, and again at each
/// change. State `up`, or `held`: what wants to go to the leader waits, since `rank` on `host` is out of reach since
/// that time (seconds since the epoch). Silent: the link to it stands, but nothing comes from there.
inline constexpr Method path{"overlay.path", MethodClass::stream, role_user};
/// Stream, of the owner: `{rank:i, status:s, torpid:b}` of each child, and of one that changes.
inline constexpr Method monitor{"overlay.monitor", MethodClass::stream};
/// `{reason:s}`: drop the link to the parent, to find it again.
inline constexpr Method disconnect_parent{"overlay.disconnect-parent", MethodClass::once};
/// `{rank:i, reason?:s}`: drop the link to this child. With a reason it may come back, without it has to leave.
inline constexpr Method disconnect_subtree{"overlay.disconnect-subtree", MethodClass::once};
/// Group of the ranks whose nodes, or the ways to them, were found lost by their parents and have not come back.
inline constexpr const char* node_lost_group = "broker.node-lost";
/// Event of a broker whose way to the leader was broken, for itself and those below: `{incarnation:s, rank:i}`. Events
/// were missed, and the leader may be another one, restarted from an older store: what was derived from either is void.
inline constexpr std::string_view resync_event = "overlay.resync";

} // namespace flux::overlay_protocol
