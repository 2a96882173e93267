// The content store as commands use it: through the cache of this rank, or past it on rank 0.
#pragma once

#include <flux/blobref.hpp>
#include <flux/handle.hpp>

#include <string>

namespace flux::store {

class BlobStore {
public:
    /// \param bypass  past the cache, straight to the backing store.
    BlobStore(Handle& handle, bool bypass) : handle_(handle), bypass_(bypass) {}

    Handle& handle() const noexcept { return handle_; }
    bool bypasses() const noexcept { return bypass_; }
    Call load(const Blobref& blob) const;
    Call store(std::string bytes) const;
    /// All checkpoints, newest first, as `{value:[checkpoint, ...]}`.
    Call checkpoints() const;
    Call put_checkpoint(Json checkpoint) const;

private:
    Handle& handle_;
    bool bypass_;
};

/// A checkpoint of the KVS.
class Checkpoint {
public:
    Checkpoint() = default;
    /// \throws Error EINVAL for a version that is not known, EPROTO
    explicit Checkpoint(JsonView value);
    Json to_json() const;

    Blobref root;
    std::int64_t sequence = 0;
    double timestamp = 0; ///< seconds since 1970
};

/// The newest checkpoint. \throws Error ENOENT when there is none
Task<Checkpoint> newest_checkpoint(const BlobStore* store);

/// The hash of the instance.
Task<HashKind> hash_kind(Handle* handle);

/// \throws Error EINVAL `please unload kvs module before WHAT` when rank 0 has it.
Task<> require_no_kvs(Handle* handle, std::string what);

/// Seconds since 1970.
double now();

} // namespace flux::store
