// Blobs in memory. Clean ones may be dropped, the longest unused first; dirty ones stay until they are safe elsewhere.
// Pure: no loop, no messages; the time is the caller's.
#pragma once

#include <flux/blobref.hpp>
#include <flux/message.hpp>

#include <chrono>
#include <list>
#include <unordered_map>

namespace flux {

class BlobCache {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// A blob, if it is here; that counts as use of it.
    const Payload* get(const Blobref& ref, Time now);
    /// The same without being use of it.
    const Payload* peek(const Blobref& ref) const;
    bool dirty(const Blobref& ref) const;

    /// Keep a blob, clean. One that is here already stays as it is.
    void insert(const Blobref& ref, Payload blob, Time now);
    /// Keep a blob and make it dirty. Returns false when it is dirty already.
    bool insert_dirty(const Blobref& ref, Payload blob, Time now);
    void mark_clean(const Blobref& ref, Time now);
    void erase(const Blobref& ref);

    /// Drop clean blobs that were last used before `old`, until no more than `target` bytes are kept.
    void purge(std::size_t target, Time old);
    /// Drop all clean blobs. Returns how many they were.
    std::size_t drop_clean();

    std::size_t count() const noexcept { return index_.size(); }
    std::size_t dirty_count() const noexcept { return dirty_.size(); }
    /// Bytes of all blobs.
    std::size_t size() const noexcept { return size_; }

private:
    struct Entry {
        Entry(const Blobref& ref, Payload blob, Time used) : ref(ref), blob(std::move(blob)), used(used) {}
        Blobref ref;
        Payload blob;
        Time used;
        bool dirty = false;
    };
    using List = std::list<Entry>;
    List::iterator add(const Blobref& ref, Payload blob, Time now);
    void drop(List::iterator entry);

    List clean_; // longest unused first
    List dirty_;
    std::unordered_map<Blobref, List::iterator> index_;
    std::size_t size_ = 0;
};

} // namespace flux
