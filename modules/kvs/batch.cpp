#include "batch.hpp"

#include <iterator>

namespace flux::kvs_store {

WorkingTree& Batch::tree_of(const std::string& name_space, const kvs::Root& current) {
    return trees_.try_emplace(name_space, current.ref, hasher_, source_).first->second;
}

void Batch::find_missing(const std::string& name_space, const kvs::Root& current, const Operations& operations,
                         std::unordered_set<Blobref>& missing) {
    tree_of(name_space, current).find_missing(operations, missing);
}

std::optional<Blobref> Batch::apply(const std::string& name_space, const kvs::Root& current,
                                    const Operations& operations, std::size_t transaction, bool alone) {
    auto& tree = tree_of(name_space, current);
    if (alone) close(name_space);
    if (auto missing = tree.apply(operations)) return missing;
    auto& versions = versions_[name_space];
    if (versions.empty() || versions.back().closed) {
        auto sequence = versions.empty() ? current.sequence : versions.back().root.sequence;
        versions.push_back({kvs::Root(Blobref(), sequence + 1), {}, false});
    }
    versions.back().transactions.push_back(transaction);
    if (alone) close(name_space);
    return std::nullopt;
}

void Batch::close(const std::string& name_space) {
    auto& versions = versions_[name_space];
    if (versions.empty() || versions.back().closed) return;
    versions.back().root.ref = trees_.at(name_space).seal();
    versions.back().closed = true;
}

void Batch::seal() {
    std::erase_if(versions_, [](const auto& item) { return item.second.empty(); });
    for (const auto& [name, versions] : versions_) close(name);
    for (auto& [name, tree] : trees_) {
        auto blobs = tree.take_blobs();
        blobs_.insert(blobs_.end(), std::move_iterator(blobs.begin()), std::move_iterator(blobs.end()));
    }
}

} // namespace flux::kvs_store
