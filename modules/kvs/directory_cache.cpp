#include "directory_cache.hpp"

namespace flux::kvs_store {

DirectoryPtr DirectoryCache::find(const Blobref& ref) {
    auto at = index_.find(ref);
    if (at == index_.end()) return nullptr;
    items_.splice(items_.begin(), items_, at->second);
    return items_.front().directory;
}

void DirectoryCache::put(const Blobref& ref, DirectoryPtr directory) {
    if (find(ref)) return;
    auto bytes = directory->footprint();
    items_.push_front({ref, std::move(directory), bytes});
    index_[ref] = items_.begin();
    bytes_ += bytes;
    shrink();
}

void DirectoryCache::retire(const Blobref& ref) {
    auto at = index_.find(ref);
    if (at != index_.end()) items_.splice(items_.end(), items_, at->second);
}

void DirectoryCache::set_limit(std::size_t limit) {
    limit_ = limit;
    shrink();
}

void DirectoryCache::shrink() {
    while (bytes_ > limit_ && items_.size() > 1) {
        bytes_ -= items_.back().bytes;
        index_.erase(items_.back().ref);
        items_.pop_back();
    }
}

RunningStats DirectoryCache::sizes() const {
    RunningStats sizes;
    for (const auto& item : items_) sizes.add(static_cast<double>(item.bytes) / 1024);
    return sizes;
}

} // namespace flux::kvs_store
