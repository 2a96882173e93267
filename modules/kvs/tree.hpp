// Directories of a KVS tree (RFC 11) as they are kept in memory. A stored directory is never changed: it is shared by
// every version of the tree that has it, and knows its subdirectories by blobref only. Any thread that owns it.
#pragma once

#include <flux/blobref.hpp>
#include <flux/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flux::kvs_store {

class Directory;
using DirectoryPtr = std::shared_ptr<const Directory>;

enum class Kind { val, valref, symlink, dirref, dir };
const char* name_of(Kind kind) noexcept;

/// One name in a directory; never changed.
struct Entry {
    std::string name;
    Kind kind;
    std::string data;       ///< canonical text of the object's `data`; nothing for a dir
    DirectoryPtr directory; ///< of a dir: not yet stored by itself
};
using EntryPtr = std::shared_ptr<const Entry>;

/// A valid tree object as an entry of that name.
EntryPtr make_entry(std::string_view name, JsonView object);
EntryPtr make_entry(std::string_view name, Kind kind, std::string data);
EntryPtr make_entry(std::string_view name, DirectoryPtr directory);
/// The `data` of a reference to these blobs.
std::string reference_data(const std::vector<Blobref>& blobs);
/// The blobs of a valref or dirref.
std::vector<Blobref> blobs_of(const Entry& reference);
/// The one blob of a dirref. \throws Error ENOTRECOVERABLE when it has several.
Blobref directory_blob(const Entry& dirref);
/// The tree object.
Json to_json(const Entry& entry);

class Directory {
public:
    Directory() = default;
    /// Read a stored directory. \throws Error ENOTRECOVERABLE when the bytes are none.
    static DirectoryPtr decode(std::string_view blob);
    /// A valid `dir` object with all that is in it.
    static DirectoryPtr from_json(JsonView object);

    /// Nothing when there is no such name.
    EntryPtr find(std::string_view name) const noexcept;
    /// Sorted by name.
    const std::vector<EntryPtr>& entries() const noexcept { return entries_; }
    /// Put an entry; returns what was there.
    EntryPtr put(EntryPtr entry);
    /// Remove an entry; returns what was there.
    EntryPtr erase(std::string_view name);

    /// The canonical text; subdirectories that are not stored stand in it themselves.
    std::string encode() const;
    /// Roughly what it takes in memory.
    std::size_t footprint() const noexcept;

private:
    void encode_to(std::string& out) const;
    std::vector<EntryPtr> entries_;
};

/// The names of a normalised key; none for the root.
std::vector<std::string> split_key(std::string_view key);

} // namespace flux::kvs_store
