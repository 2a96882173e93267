// The tree of one namespace while transactions are applied to it: what they touch is copied, the rest stays stored.
// A transaction is applied whole; one that fails, or needs a directory that is not in memory, leaves nothing.
#pragma once

#include "transaction.hpp"

#include <flux/hash.hpp>

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flux::kvs_store {

/// The stored directory of a blobref, or nothing when it must be loaded first. May throw why it cannot be had.
using DirectorySource = std::function<DirectoryPtr(const Blobref&)>;

/// Links followed on the way to one key, at most.
inline constexpr int link_limit = 10;

struct Blob {
    Blobref ref;
    std::string bytes;
};

class WorkingTree {
public:
    /// \param hasher  must outlive this.
    WorkingTree(const Blobref& root, Hasher& hasher, DirectorySource source);

    /// Add the directories that applying `operations` needs next and that are not in memory.
    void find_missing(const Operations& operations, std::unordered_set<Blobref>& missing) const;
    /// Apply a transaction. \return a directory that must be loaded before it can be; nothing when it is applied.
    /// \throws Error why it cannot be.
    std::optional<Blobref> apply(const Operations& operations);
    /// Make what was applied a version of the tree: the result is its root.
    Blobref seal();

    /// New blobs of all sealed versions: values, and directories after what is in them.
    std::vector<Blob> take_blobs() noexcept { return std::move(blobs_); }
    /// Directories of all sealed versions, by their blobs.
    const std::unordered_map<Blobref, DirectoryPtr>& sealed() const noexcept { return sealed_; }
    /// Directories that others have taken the place of.
    const std::vector<Blobref>& replaced() const noexcept { return replaced_; }

private:
    // A directory that may be changed, and what it was made from.
    struct Opened {
        std::shared_ptr<Directory> directory;
        std::optional<Blobref> base;
    };
    struct Change {
        Directory* directory;
        std::string name;
        EntryPtr old;
    };

    DirectoryPtr load(const Blobref& ref) const;
    void find_missing(const Operation& operation, std::unordered_set<Blobref>& missing) const;
    DirectoryPtr below(const Entry& entry) const;
    std::shared_ptr<Directory> open(const Directory& original, std::optional<Blobref> base);
    Directory& root();
    Directory* parent_of(const Operation& operation);
    Directory& descend(Directory& parent, const std::string& name, const EntryPtr& entry);
    void apply_one(const Operation& operation);
    EntryPtr appended(const Entry& old, const Operation& operation);
    EntryPtr stored(const Operation& operation);
    EntryPtr shortened(const EntryPtr& entry);
    Blobref store_value(std::string bytes);
    void put(Directory& directory, EntryPtr entry);
    void erase(Directory& directory, const std::string& name);
    void undo(std::size_t blobs);
    Blobref seal(const Directory& directory);

    Blobref root_ref_;
    Hasher& hasher_;
    DirectorySource source_;
    Directory* root_ = nullptr; // once it is opened
    std::unordered_map<const Directory*, Opened> opened_;
    std::vector<Change> changes_; // of the transaction that is being applied
    std::vector<Blob> blobs_;
    std::unordered_map<Blobref, DirectoryPtr> sealed_;
    std::vector<Blobref> replaced_;
};

} // namespace flux::kvs_store
