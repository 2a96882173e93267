#include "cmd/store/edited_tree.hpp"

#include <cerrno>

namespace flux::store {

Path path_of_key(std::string_view key) {
    Path path;
    while (!key.empty()) {
        auto name = key.substr(0, key.find('.'));
        path.emplace_back(name);
        key.remove_prefix(std::min(key.size(), name.size() + 1));
    }
    return path;
}

Task<Json> EditedTree::load(Blobref directory) {
    auto bytes = co_await storage_.load(directory);
    auto object = treeobj::decode(bytes);
    co_return treeobj::entries_of(object).copy();
}

Task<> EditedTree::begin(Blobref root) { root_.entries = co_await load(root); }

Task<> EditedTree::put(const Path* path, Json object) {
    auto* node = co_await parent(path);
    const auto& name = path->back();
    auto there = node->entries[name];
    if (node->open.contains(name) || (there && treeobj::type_of(there) == treeobj::Type::dirref))
        throw Error(EISDIR, "it is a directory too");
    node->entries.set(name, std::move(object));
    if (++added_ > limit_) co_await store_all_but(path);
}

Task<Json> EditedTree::take(const Path* path) {
    auto* node = co_await parent(path);
    const auto& name = path->back();
    auto open = node->open.find(name);
    if (open != node->open.end()) {
        auto blob = co_await store(open->second.get());
        node->open.erase(open);
        co_return treeobj::make_dirref(blob);
    }
    auto there = node->entries[name];
    if (!there) throw Error(ENOENT);
    auto object = there.copy();
    node->entries.erase(name);
    co_return std::move(object);
}

Task<EditedTree::Node*> EditedTree::parent(const Path* path) {
    auto* node = &root_;
    for (std::size_t i = 0; i + 1 < path->size(); ++i) node = co_await enter(node, &(*path)[i]);
    co_return node;
}

Task<EditedTree::Node*> EditedTree::enter(Node* node, const std::string* name) {
    auto open = node->open.find(*name);
    if (open != node->open.end()) co_return open->second.get();
    auto below = std::make_unique<Node>();
    auto there = node->entries[*name];
    if (there) {
        auto type = treeobj::type_of(there);
        if (type == treeobj::Type::dirref)
            below->entries = co_await load(treeobj::blobrefs_of(there).front());
        else if (type == treeobj::Type::dir)
            below->entries = treeobj::entries_of(there).copy();
        else
            throw Error(ENOTDIR, "'" + *name + "' is no directory, but something with that name too");
        added_ += below->entries.size();
        node->entries.erase(*name);
    }
    co_return (node->open[*name] = std::move(below)).get();
}

Task<Blobref> EditedTree::store(Node* node) {
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

Task<> EditedTree::store_all_but(const Path* path) {
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

Task<Blobref> EditedTree::finish() { return store(&root_); }

} // namespace flux::store
