// The other ranks' way to the store: through the cache of the parent. Stores are written through: a blob is dirty until
// the parent, and so rank 0, has it.
#pragma once

#include "blob_cache.hpp"

#include <flux/handle.hpp>

#include <functional>
#include <unordered_map>
#include <vector>

namespace flux {

class Upstream {
public:
    Upstream(Handle& handle, BlobCache& cache) : handle_(handle), cache_(cache) {}

    /// Ask the parent for a blob.
    void load(const Blobref& ref, std::function<void(const Message&)> done);
    /// Handlers of `content.store`, once the blob's hash is known, and of `content.flush`, `content.checkpoint-put`,
    /// `content.checkpoint-get`.
    void store(const Blobref& ref, const Request& request);
    void flush(const Request& request);
    void checkpoint_put(const Request& request);
    void checkpoint_get(const Request& request);

    /// Stores under way.
    std::size_t store_count() const noexcept { return storing_.size(); }

private:
    void on_stored(const Blobref& ref, Message response);
    void when_flushed(std::function<void(const Message& result)> action);

    Handle& handle_;
    BlobCache& cache_;
    std::unordered_map<Blobref, std::vector<Request>> storing_;
    std::vector<std::function<void(const Message&)>> flushes_; // run when no store is under way
    Message flush_result_;                                     // of the last store that failed since somebody waits
};

} // namespace flux
