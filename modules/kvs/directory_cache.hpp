// Stored directories that were used last, by blobref, within a bound on memory.
#pragma once

#include "tree.hpp"

#include <flux/running_stats.hpp>

#include <list>
#include <unordered_map>

namespace flux::kvs_store {

class DirectoryCache {
public:
    /// \param limit  bytes, roughly; the last directory put stays whatever its size.
    explicit DirectoryCache(std::size_t limit) noexcept : limit_(limit) {}

    /// Nothing when it is not here.
    DirectoryPtr find(const Blobref& ref);
    void put(const Blobref& ref, DirectoryPtr directory);
    /// Nobody but readers of old versions needs it: the first to go.
    void retire(const Blobref& ref);
    void set_limit(std::size_t limit);

    std::size_t bytes() const noexcept { return bytes_; }
    /// Of the directories' sizes, in KiB.
    RunningStats sizes() const;

private:
    struct Item {
        Blobref ref;
        DirectoryPtr directory;
        std::size_t bytes;
    };
    void shrink();

    std::size_t limit_;
    std::size_t bytes_ = 0;
    std::list<Item> items_; // used last first
    std::unordered_map<Blobref, std::list<Item>::iterator> index_;
};

} // namespace flux::kvs_store
