#include "cmd/snapshot/restored_tree.hpp"

#include <cerrno>

namespace flux::snapshot {

Task<> RestoredTree::put(const std::vector<std::string>* path, Json object) {
    auto* node = &root_;
    for (std::size_t i = 0; i + 1 < path->size(); ++i) node = co_await enter(node, &(*path)[i]);
    const auto& name = path->back();
    auto there = node->entries[name];
    if (node->open.contains(name) || (there && treeobj::type_of(there) == treeobj::Type::dirref))
        throw Error(EISDIR, "it is a directory too");
    node->entries.set(name, std::move(object));
    if (++added_ > limit_) co_await store_all_but(path);
}

Task<RestoredTree::Node*> RestoredTree::enter(Node* node, const std::string* name) {
    auto open = node->open.find(*name);
    if (open != node->open.end()) co_return open->second.get();
    auto below = std::make_unique<Node>();
    auto there = node->entries[*name];
    if (there) {
        if (treeobj::type_of(there) != treeobj::Type::dirref)
            throw Error(ENOTDIR, "'" + *name + "' is no directory, but something with that name too");
        auto bytes = co_await storage_.load(treeobj::blobrefs_of(there).front());
        auto directory = treeobj::decode(bytes);
        below->entries = treeobj::entries_of(directory).copy();
        added_ += below->entries.size();
        node->entries.erase(*name);
    }
    co_return (node->open[*name] = std::move(below)).get();
}

Task<Blobref> RestoredTree::store(Node* node) {
    while (!node->open.empty()) {
        auto below = node->open.begin();
        auto blob = co_await store(below->second.get());
        node->entries.set(below->first, treeobj::make_dirref(blob));
        node->open.erase(below);
    }
    auto directory = treeobj::make_dir();
    directory.set("data", std::move(node->entries));
    auto blob = co_await storage_.store(treeobj::encode(directory));
    co_return blob;
}

Task<> RestoredTree::store_all_but(const std::vector<std::string>* path) {
    added_ = 0;
    auto* node = &root_;
    for (const auto& name : *path) {
        for (auto below = node->open.begin(); below != node->open.end();) {
            if (below->first == name) {
                ++below;
                continue;
            }
            auto blob = co_await store(below->second.get());
            node->entries.set(below->first, treeobj::make_dirref(blob));
            below = node->open.erase(below);
        }
        auto next = node->open.find(name);
        if (next == node->open.end()) co_return;
        node = next->second.get();
    }
}

Task<Blobref> RestoredTree::finish() { return store(&root_); }

} // namespace flux::snapshot
