// The KVS (RFC 11): services `kvs` and `kvs-watch`, both loaded on every rank; rank 0 applies commits.
// Client side: flux/kvs.hpp. Payload shapes: s string, i integer, b boolean, o object, `?` optional. Common errors:
// EPROTO for a payload that cannot be read, EPERM, ENOTSUP for a namespace that does not exist.
//
// A guest may use namespaces of its own; what a guest may commit is limited (EPERM `guests may not commit TYPE
// objects`).
#pragma once

#include <flux/handle.hpp>

#include <string_view>

namespace flux::kvs_protocol {

inline constexpr std::string_view primary_namespace = "primary";

/// What is looked up, and how (`flags` of lookups; `append` is also the flag of an operation).
enum LookupFlag : int {
    readdir = 1,                   ///< want a directory
    readlink = 2,                  ///< want the link itself
    watch = 4,                     ///< a stream of values
    wait_create = 8,               ///< wait for the key, and its namespace, to exist
    treeobj = 16,                  ///< want the tree object as it is stored
    append = 32,                   ///< operation: append to the value
    watch_full = 64,               ///< look again after every commit
    watch_unique = 128,            ///< send only values that differ from the last one
    watch_append = 256,            ///< one response for each blob added to the value
    stream = 512,                  ///< one response for each blob of the value, then the end
    watch_initial_sentinel = 1024, ///< an empty response after the initial content of a watch_append
};

enum CommitFlag : int {
    no_merge = 1,   ///< a root of its own, not shared with other transactions
    compact = 2,    ///< for the client library, not sent
    sync = 4,       ///< primary only: answered after an fsync and a checkpoint
    wait_space = 8, ///< owner, or a namespace of one's own: on a full disk wait instead of ENOSPC
};

/// `{key:s, flags:i, namespace?:s, rootdir?:dirref, rootseq?:i}` to `{val:treeobj}`. One of namespace (its root) or
/// rootdir (a snapshot, without check of permissions). Flags readdir, readlink, treeobj.
/// ENOENT, ENOTDIR, EISDIR, EINVAL (readlink of something else), ELOOP, EOVERFLOW, ENOTRECOVERABLE.
inline constexpr Method lookup{"kvs.lookup", MethodClass::read, role_user};
/// As lookup, for kvs-watch: `{val:treeobj, rootseq:i, rootref:s}`, or `{errno:2, rootseq:i, rootref:s}`: not found.
inline constexpr Method lookup_plus{"kvs.lookup-plus", MethodClass::read, role_user};
/// `{namespace:s}` to `{owner:i, rootseq:i, rootref:s, flags:i, namespace:s}`.
inline constexpr Method getroot{"kvs.getroot", MethodClass::read, role_user};
/// `{namespace:s, rootseq:i}` to `{rootseq:i, rootref:s}` once this rank has that version or a newer one.
inline constexpr Method wait_version{"kvs.wait-version", MethodClass::read, role_user};
/// `{namespace:s, flags:i, ops:[{key:s, flags:i, dirent:treeobj|null}, ...], once?:{id:s, seq:i}}` to
/// `{rootref:s, rootseq:i}`, when it is durable and this rank has that root. A null dirent unlinks.
///
/// With `once` it may be repeated like a `keyed` method: `id` names one writer for all time, it has one commit under
/// way, and the first seq of an id may be any. seq = last: the answer of that commit; last + 1: applied; else EINVAL.
/// A commit that fails does not use its seq up.
inline constexpr Method commit{"kvs.commit", MethodClass::once, role_user};
/// Rank 0. `{namespace:s, owner:i, flags:i, rootref?:s}`, empty answer. Owner -1 is the instance owner; the root is
/// empty unless given. EEXIST.
inline constexpr Method namespace_create{"kvs.namespace-create", MethodClass::once};
/// Rank 0. `{namespace:s}`, empty answer, also when there is none. ENOTSUP for primary.
inline constexpr Method namespace_remove{"kvs.namespace-remove", MethodClass::read};
/// No payload, to `{namespaces:[{namespace:s, owner:i, flags:i}, ...]}`, those that this rank knows.
inline constexpr Method namespace_list{"kvs.namespace-list", MethodClass::read};
/// Test hook: `{namespace:s}`, empty answer; setroot events of this rank wait until unpaused.
inline constexpr Method setroot_pause{"kvs.setroot-pause", MethodClass::read, role_user};
inline constexpr Method setroot_unpause{"kvs.setroot-unpause", MethodClass::read, role_user};
/// → cache and namespaces (kvs-content.md 4.11).
inline constexpr Method stats_get{"kvs.stats-get", MethodClass::read, role_user};
/// From the broker: a client has gone.
inline constexpr Method disconnect{"kvs.disconnect", MethodClass::read, role_user};

// Events, private, published by rank 0. A subscription to a namespace's prefix may get those of others: read the
// payload.

/// `kvs.namespace-NS`, the prefix of its events.
inline constexpr std::string_view event_prefix = "kvs.namespace-";
/// `kvs.namespace-NS-setroot {namespace:s, rootseq:i, rootref:s, names:[s, ...], keys:{KEY:null, ...}, owner:i}`: a
/// commit is done; `keys` has the normalised keys of its operations.
inline constexpr std::string_view setroot_suffix = "-setroot";
/// `kvs.namespace-NS-error {namespace:s, names:[s, ...], errnum:i}`: commits have failed.
inline constexpr std::string_view error_suffix = "-error";
/// `kvs.namespace-NS-created {namespace:s, rootseq:i, rootref:s, owner:i}`
inline constexpr std::string_view created_suffix = "-created";
/// `kvs.namespace-NS-removed {namespace:s}`
inline constexpr std::string_view removed_suffix = "-removed";

} // namespace flux::kvs_protocol

namespace flux::kvs_watch_protocol {

/// `{namespace:s, key:s, flags:i}` to `{val:treeobj}`: once (wait_create alone) or as a stream (watch, stream), in
/// which a response without payload is the initial sentinel. ENODATA cancelled, or all of a `stream`; ENOENT missing or
/// removed; ENOTSUP namespace missing or removed; EINVAL for a wrong combination of flags, or an appended value that
/// was shortened or replaced.
inline constexpr Method lookup{"kvs-watch.lookup", MethodClass::stream, role_user};
/// `{matchtag:i}`, no answer.
inline constexpr Method cancel{"kvs-watch.cancel", MethodClass::read, role_user};
/// → `{watchers, namespace-count, namespaces}`
inline constexpr Method stats_get{"kvs-watch.stats-get", MethodClass::read, role_user};
inline constexpr Method disconnect{"kvs-watch.disconnect", MethodClass::read, role_user};

} // namespace flux::kvs_watch_protocol
