// What the KVS module reads from the content store: directories, kept in a cache, and values.
#pragma once

#include "directory_cache.hpp"
#include "working_tree.hpp"

#include <flux/handle.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

namespace flux::kvs_store {

/// Directories that were loaded together: they stay until this goes.
struct Loaded {
    Loaded() = default;
    std::unordered_map<Blobref, DirectoryPtr> directories;
    std::unordered_map<Blobref, Error> failures;
};

class Store {
public:
    /// Directories in memory: enough for the busy part of a large instance.
    static constexpr std::size_t default_cache_limit = std::size_t(16) << 20;

    explicit Store(Handle& handle);

    DirectoryCache& cache() noexcept { return cache_; }
    /// Of directories in the cache.
    DirectorySource source() {
        return [this](const Blobref& ref) { return cache_.find(ref); };
    }
    /// Of these too; throws why one of them could not be loaded. `loaded` must outlive it.
    DirectorySource source(const Loaded& loaded);
    /// Load directories all at once.
    Task<> load_directories(std::unordered_set<Blobref> refs, Loaded* loaded);
    /// Load a directory into the cache. \throws Error of `content.load`; ENOTRECOVERABLE
    Task<DirectoryPtr> load_directory(Blobref ref);
    /// The bytes of these blobs one after the other. \throws Error of `content.load`; EOVERFLOW
    Task<std::string> load_value(std::vector<Blobref> refs);
    /// Directories that had to be loaded.
    std::uint64_t faults() const noexcept { return faults_; }

private:
    // A load that several wait for.
    struct Load {
        Condition done;
        DirectoryPtr directory;
        std::optional<Error> failure;
    };
    Call load(const Blobref& ref);

    Handle& handle_;
    DirectoryCache cache_;
    std::unordered_map<Blobref, std::shared_ptr<Load>> loads_; // under way
    std::uint64_t faults_ = 0;
};

} // namespace flux::kvs_store
