// job-info, on every rank: what the KVS has of a job, for its owner and the instance owner (EPERM for others).
// Payload shapes: s string, i integer, o object, `?` optional. Common errors: ENOENT for a job or key that is not
// there, EPROTO for flags that are not known and for a stream that is not asked for as one.
#pragma once

#include <flux/handle.hpp>

namespace flux::job_info_protocol {

enum LookupFlag : int {
    json_decode = 1, ///< `R` and `jobspec` as objects
    current = 2,     ///< with the updates that the eventlog has
};

enum WatchFlag : int {
    wait_create = 1,      ///< wait for the key
    initial_sentinel = 2, ///< an empty response after what is there at first
};

/// `{id:i, keys:[s, ...], flags:i}` to `{id:i, KEY:s|o, ...}`. Keys are relative to the job's directory.
inline constexpr Method lookup{"job-info.lookup", MethodClass::read, role_user};
/// Stream. `{id:i, path:s, flags:i}` to `{event:s}`, each line of an eventlog when it is there, newline included.
/// ENODATA: after `clean` of the main log `eventlog`; `guest.` logs: when the job has ended.
inline constexpr Method eventlog_watch{"job-info.eventlog-watch", MethodClass::stream, role_user};
/// `{matchtag:i}`, no answer.
inline constexpr Method eventlog_watch_cancel{"job-info.eventlog-watch-cancel", MethodClass::read, role_user};
/// Stream. `{id:i, key:s, flags:0}` to `{KEY:o}`, `R` or `jobspec` as it is now and after each update. ENODATA: the job
/// is inactive. EINVAL: another key.
inline constexpr Method update_watch{"job-info.update-watch", MethodClass::stream, role_user};
/// `{matchtag:i}`, no answer.
inline constexpr Method update_watch_cancel{"job-info.update-watch-cancel", MethodClass::read, role_user};
/// As update_watch, once.
inline constexpr Method update_lookup{"job-info.update-lookup", MethodClass::read, role_user};
/// → `{lookups, watchers, guest_watchers, update_lookups, update_watchers}`: requests under way, by kind.
inline constexpr Method stats_get{"job-info.stats-get", MethodClass::read};
/// From the broker: a client has gone.
inline constexpr Method disconnect{"job-info.disconnect", MethodClass::read, role_user};

} // namespace flux::job_info_protocol
