// A KVS tree that is being changed, or made of entries in any order. What has not been touched for long is stored, and
// read again when it is touched: in memory is a bounded part of the tree.
#pragma once

#include <flux/task.hpp>
#include <flux/treeobj.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::store {

/// Where blobs are kept.
class Storage {
public:
    virtual ~Storage() = default;
    virtual Task<Blobref> store(std::string bytes) = 0;
    virtual Task<std::string> load(Blobref blob) = 0;
};

/// The names of a key.
using Path = std::vector<std::string>;
Path path_of_key(std::string_view key);

class EditedTree {
public:
    /// Entries in memory, about.
    static constexpr std::size_t default_limit = 16384;
    explicit EditedTree(Storage& storage, std::size_t limit = default_limit) : storage_(storage), limit_(limit) {}

    /// Begin with a tree that is there.
    Task<> begin(Blobref root);
    /// Put a tree object. \throws Error EISDIR, ENOTDIR when one name would be a directory and something else.
    Task<> put(const Path* path, Json object);
    /// Take out what is there, with all below. \throws Error ENOENT, ENOTDIR
    Task<Json> take(const Path* path);
    /// Store all that is not: the root.
    Task<Blobref> finish();

private:
    // A directory that is not stored.
    struct Node {
        Json entries = Json::object(); // tree objects by name; references to directories that are stored too
        std::map<std::string, std::unique_ptr<Node>, std::less<>> open;
    };
    Task<Json> load(Blobref directory);
    Task<Node*> enter(Node* node, const std::string* name);
    Task<Node*> parent(const Path* path);
    Task<Blobref> store(Node* node);
    Task<> store_all_but(const Path* path);

    Storage& storage_;
    std::size_t limit_;
    std::size_t added_ = 0; // since memory was cleared
    Node root_;
};

} // namespace flux::store
