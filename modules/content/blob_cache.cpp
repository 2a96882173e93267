#include "blob_cache.hpp"

namespace flux {

const Payload* BlobCache::get(const Blobref& ref, Time now) {
    auto found = index_.find(ref);
    if (found == index_.end()) return nullptr;
    auto entry = found->second;
    entry->used = now;
    if (!entry->dirty) clean_.splice(clean_.end(), clean_, entry);
    return &entry->blob;
}

const Payload* BlobCache::peek(const Blobref& ref) const {
    auto found = index_.find(ref);
    return found == index_.end() ? nullptr : &found->second->blob;
}

bool BlobCache::dirty(const Blobref& ref) const {
    auto found = index_.find(ref);
    return found != index_.end() && found->second->dirty;
}

BlobCache::List::iterator BlobCache::add(const Blobref& ref, Payload blob, Time now) {
    auto found = index_.find(ref);
    if (found != index_.end()) return found->second;
    size_ += blob.bytes().size();
    auto entry = clean_.emplace(clean_.end(), ref, std::move(blob), now);
    index_.emplace(ref, entry);
    return entry;
}

void BlobCache::insert(const Blobref& ref, Payload blob, Time now) { add(ref, std::move(blob), now); }

bool BlobCache::insert_dirty(const Blobref& ref, Payload blob, Time now) {
    auto entry = add(ref, std::move(blob), now);
    entry->used = now;
    if (entry->dirty) return false;
    entry->dirty = true;
    dirty_.splice(dirty_.end(), clean_, entry);
    return true;
}

void BlobCache::mark_clean(const Blobref& ref, Time now) {
    auto found = index_.find(ref);
    if (found == index_.end() || !found->second->dirty) return;
    auto entry = found->second;
    entry->dirty = false;
    entry->used = now;
    clean_.splice(clean_.end(), dirty_, entry);
}

void BlobCache::erase(const Blobref& ref) {
    auto found = index_.find(ref);
    if (found != index_.end()) drop(found->second);
}

void BlobCache::drop(List::iterator entry) {
    size_ -= entry->blob.bytes().size();
    index_.erase(entry->ref);
    auto& list = entry->dirty ? dirty_ : clean_;
    list.erase(entry);
}

void BlobCache::purge(std::size_t target, Time old) {
    while (size_ > target && !clean_.empty() && clean_.front().used < old) drop(clean_.begin());
}

std::size_t BlobCache::drop_clean() {
    auto count = clean_.size();
    while (!clean_.empty()) drop(clean_.begin());
    return count;
}

} // namespace flux
