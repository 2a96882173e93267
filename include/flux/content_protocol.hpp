// The content store (kvs-content.md 1): `content` on every rank, `content-backing` on rank 0.
//
// Blobs and digests travel as raw payloads: no JSON, no NUL; an empty blob is no payload. Every method may be sent
// again: a repeat stores the same bytes under the same names.
#pragma once

#include <flux/handle.hpp>

#include <cstdint>

namespace flux::content_protocol {

/// Raw digest → raw blob. EPROTO: no digest of the instance's hash. ENOENT: unknown.
inline constexpr Method load{"content.load", MethodClass::read};
/// Raw blob → raw digest, when rank 0 has it. EFBIG: above the blob-size-limit.
inline constexpr Method store{"content.store", MethodClass::read};
/// → empty, when everything stored at this rank before is with rank 0, on rank 0 with the backing store.
/// ENOSYS: rank 0 without backing store; else the error of the last store.
inline constexpr Method flush{"content.flush", MethodClass::read};
/// → empty: forget every blob that need not be kept.
inline constexpr Method dropcache{"content.dropcache", MethodClass::read};
/// → `{count, valid, dirty, size, flush-batch-count, mmap}`
inline constexpr Method stats_get{"content.stats-get", MethodClass::read};
/// → `{value:[checkpoint, ...]}`, newest first. ENOSYS: no backing store. ENOENT: no checkpoint.
inline constexpr Method checkpoint_get{"content.checkpoint-get", MethodClass::read};
/// `{value:checkpoint}` → empty: flush, then keep a new checkpoint beside the older ones, safe against loss of power
/// (as far as `content-sqlite.synchronous` has it). ENOSYS: no backing store.
inline constexpr Method checkpoint_put{"content.checkpoint-put", MethodClass::once};
/// Rank 0. A commit (flux/content_commit.hpp) → empty, when it is durable, and every blob stored before it with it, in
/// one transaction. Without a backing store its blobs are kept until there is one, and its tail is lost.
inline constexpr Method commit{"content.commit", MethodClass::read};

/// Rank 0. `{path, chunksize, tag}` → empty: parts of a file become blobs that can be loaded (0: the whole file).
/// EINVAL: not fully qualified, or no non-empty regular file.
inline constexpr Method mmap_add{"content.mmap-add", MethodClass::once};
/// Rank 0. `{tag}` → empty: the files of a tag no longer do.
inline constexpr Method mmap_remove{"content.mmap-remove", MethodClass::read};

// What a backing store asks of the cache of rank 0:

/// `{name}` → empty. EBUSY: another one is active. EINVAL: not rank 0, or not the name of the first one ever.
inline constexpr Method register_backing{"content.register-backing", MethodClass::once};
/// `{reload?:b}` → empty, when what could be written is. With `reload` the store comes back in a moment: what needs it
/// waits meanwhile. EINVAL: none is active.
inline constexpr Method unregister_backing{"content.unregister-backing", MethodClass::once};

/// Sent by the broker when somebody is gone.
inline constexpr Method disconnect{"content.disconnect", MethodClass::read, role_all};

/// When `checkpoint-put` fails because blobs could not be written.
inline constexpr const char* flush_error = "error flushing content";

/// Attribute that names the hash, `sha1` or `sha256`.
inline constexpr const char* hash_attribute = "content.hash";
/// Attribute that names the backing store's module.
inline constexpr const char* backing_attribute = "content.backing-module";

/// Default of option `blob-size-limit`.
inline constexpr std::uint32_t blob_size_limit = 1u << 30;

} // namespace flux::content_protocol

/// Served by the backing store's module on rank 0.
namespace flux::content_backing_protocol {

inline constexpr const char* service = "content-backing";

/// → `{name, uuid}`, of the module: asked by a content cache that starts, so that it finds a store that was there
/// before it.
inline constexpr Method hello{"content-backing.hello", MethodClass::read};
/// Raw digest → raw blob. EPROTO: no digest of the instance's hash. ENOENT: unknown.
inline constexpr Method load{"content-backing.load", MethodClass::read};
/// Raw blob → raw digest.
inline constexpr Method store{"content-backing.store", MethodClass::read};
/// Raw digest → empty. ENOENT: unknown.
inline constexpr Method validate{"content-backing.validate", MethodClass::read};
/// As `content.checkpoint-get`.
inline constexpr Method checkpoint_get{"content-backing.checkpoint-get", MethodClass::read};
/// As `content.checkpoint-put`.
inline constexpr Method checkpoint_put{"content-backing.checkpoint-put", MethodClass::once};
/// A commit (flux/content_commit.hpp) → empty, when all of it is durable; nothing of it is kept when it fails (ENOSPC,
/// EIO, ...). The KVS sends it as `content.commit`, so that what the cache has acknowledged before goes with it.
inline constexpr Method commit{"content-backing.commit", MethodClass::read};
/// → `{namespaces:[{namespace, owner, flags, rootref, rootseq}, ...]}` as put by commits.
inline constexpr Method namespaces_get{"content-backing.namespaces-get", MethodClass::read};
/// `{id}` → `{seq, result}`, the once row of that id. ENOENT: none, or none of the last 30 days.
inline constexpr Method once_get{"content-backing.once-get", MethodClass::read};
/// `{epoch, get_count?:b}` → `{current_epoch, high_water, candidates?}` (kvs-content.md 10.2)
inline constexpr Method gc_info{"content-backing.gc-info", MethodClass::read};
/// `{epoch, hashes:[blobref, ...]}` → `{marked}`. EPROTO: a hash is no blobref of the instance. EINVAL: too many.
inline constexpr Method mark{"content-backing.mark", MethodClass::read};
/// `{epoch, cursor, high_water, delete_cap, window}` → `{deleted, cursor}`
inline constexpr Method sweep{"content-backing.sweep", MethodClass::read};

/// Most hashes of one `mark`.
inline constexpr std::size_t mark_limit = 16384;

} // namespace flux::content_backing_protocol
