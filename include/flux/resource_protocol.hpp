// resource, on every rank (RFC 20, RFC 28, RFC 44): what the instance has, and which of it may be used now. Rank 0 owns
// inventory, event log and drain state; the other ranks tell it what they find on their host.
// Payload shapes: s string, i integer, f real, b boolean, o object, R a resource set, `?` optional; "empty" is an
// answer without payload. An idset or hostlist is a string. Methods of rank 0 answer EPROTO `this RPC only works on
// rank 0` elsewhere, unless it says something else.
#pragma once

#include <flux/handle.hpp>

namespace flux::resource_protocol {

/// To `{R:R, drain:{IDSET:{timestamp:f, reason:s}, ...}, online:idset, offline:idset, exclude:idset, torpid:idset}`.
/// ENOENT while R is unknown.
inline constexpr Method status{"resource.status", MethodClass::read, role_user};
/// To `{all:R, down:R, allocated:R}`, without what is excluded or lost.
inline constexpr Method sched_status{"resource.sched-status", MethodClass::read, role_user};
/// Any rank. To `{R:R, method:s}`: where it came from is `configuration`, `kvs`, `job-info`, `dynamic-discovery` or
/// `reload`. ENOENT while unknown.
inline constexpr Method get{"resource.get", MethodClass::read};

/// Stream for the one scheduler. First `{resources:R, up:idset}`, then changes: at least one of `up`, `down`, `shrink`
/// (idsets), `expiration` (f). All ranks are down until named in `up`; those in `shrink` are gone for good.
/// EBUSY: there is a client.
inline constexpr Method acquire{"resource.acquire", MethodClass::stream};
/// `{matchtag:i}`, no answer: the stream ends with ECANCELED.
inline constexpr Method acquire_cancel{"resource.acquire-cancel", MethodClass::read};
/// Empty: no more changes are told, the instance shuts down.
inline constexpr Method acquire_mute{"resource.acquire-mute", MethodClass::read};

/// `{targets:s, reason?:s, mode?:s}`, empty; ENOSYS on other ranks. Targets are an idset or a hostlist, mode is
/// `update`, `overwrite` or `force-overwrite`. EEXIST: drained already; EINVAL.
inline constexpr Method drain{"resource.drain", MethodClass::once};
/// `{targets:s, reason?:s, mode?:s}`, empty; ENOSYS on other ranks. EEXIST: not drained.
inline constexpr Method undrain{"resource.undrain", MethodClass::once};

/// Stream of `{events:[o, ...], R?:R}`: the backlog, an empty list, then each event when it happens. The R of a
/// `resource-define` is beside it.
inline constexpr Method journal{"resource.journal", MethodClass::stream};
/// `{matchtag:i}`, no answer.
inline constexpr Method journal_cancel{"resource.journal-cancel", MethodClass::read};

/// `{path:s, xml:b, force:b}`, empty; ENOSYS on other ranks. EBUSY while there is a scheduler.
inline constexpr Method reload{"resource.reload", MethodClass::once};
/// `{expiration:f}`, empty; ENOSYS on other ranks.
inline constexpr Method expiration_update{"resource.expiration-update", MethodClass::read};

/// `{up:i}`, empty, once so many ranks are online.
inline constexpr Method monitor_waitup{"resource.monitor-waitup", MethodClass::read};
/// `{ranks:idset}`, empty. For tests: these ranks count as offline until they join again.
inline constexpr Method monitor_force_down{"resource.monitor-force-down", MethodClass::read};

/// From the rank below: `{count:i, resource:R}`, empty: what so many ranks have found on their hosts.
inline constexpr Method topo_reduce{"resource.topo-reduce", MethodClass::read};
/// → message counts.
inline constexpr Method stats_get{"resource.stats-get", MethodClass::read, role_user};
/// From the broker: a client has gone.
inline constexpr Method disconnect{"resource.disconnect", MethodClass::read, role_user};

/// Broker groups that are watched.
inline constexpr const char* online_group = "broker.online";
inline constexpr const char* sdmon_online_group = "sdmon.online"; ///< instead, with `systemd.enable`
inline constexpr const char* torpid_group = "broker.torpid";

/// Keys in the KVS.
inline constexpr const char* R_key = "resource.R";
inline constexpr const char* eventlog_key = "resource.eventlog";
inline constexpr const char* checkpoint_key = "checkpoint.resource";

} // namespace flux::resource_protocol
