// The KVS tree that is made of the entries of an archive, in any order. What has not been touched for long is stored,
// and read again when it is touched: in memory is a bounded part of the tree.
#pragma once

#include <flux/task.hpp>
#include <flux/treeobj.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flux::snapshot {

/// Where blobs are kept.
class Storage {
public:
    virtual ~Storage() = default;
    virtual Task<Blobref> store(std::string bytes) = 0;
    virtual Task<std::string> load(Blobref blob) = 0;
};

class RestoredTree {
public:
    /// Entries in memory, about.
    static constexpr std::size_t default_limit = 16384;
    explicit RestoredTree(Storage& storage, std::size_t limit = default_limit) : storage_(storage), limit_(limit) {}

    /// Put a tree object. \throws Error EISDIR, ENOTDIR when one name would be a directory and something else.
    Task<> put(const std::vector<std::string>* path, Json object);
    /// Store all that is not: the root.
    Task<Blobref> finish();

private:
    // A directory that is not stored.
    struct Node {
        Json entries = Json::object(); // tree objects by name; references to directories that are stored too
        std::map<std::string, std::unique_ptr<Node>, std::less<>> open;
    };
    Task<Node*> enter(Node* node, const std::string* name);
    Task<Blobref> store(Node* node);
    Task<> store_all_but(const std::vector<std::string>* path);

    Storage& storage_;
    std::size_t limit_;
    std::size_t added_ = 0; // since memory was cleared
    Node root_;
};

} // namespace flux::snapshot
