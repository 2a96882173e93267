// The objects a KVS tree is made of (RFC 11), as JSON: {"data":…,"type":…,"ver":1}.
#pragma once

#include <flux/blobref.hpp>
#include <flux/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::treeobj {

enum class Type { val, valref, dir, dirref, symlink };

/// An inline value.
Json make_val(std::string_view bytes);
/// A value kept in one or more blobs. \throws Error EINVAL when there are none.
Json make_valref(std::span<const Blobref> blobs);
inline Json make_valref(const Blobref& blob) { return make_valref(std::span(&blob, 1)); }
/// An empty directory; put entries into `object["data"]`.
Json make_dir();
/// A reference to a stored directory.
Json make_dirref(const Blobref& blob);
/// A link to a key, in another namespace when one is given.
Json make_symlink(std::string_view target, std::optional<std::string_view> name_space = std::nullopt);

/// Check an object and, for a directory, all that is in it. Whether a value is good base64 is checked only when it is
/// read. \throws Error EINVAL saying what is wrong.
void validate(JsonView object);

// Readers. Each checks what it reads and throws Error EINVAL for an object of another kind.

Type type_of(JsonView object);
/// The bytes of a val.
std::string value_of(JsonView val);
/// The blobs of a valref or dirref, at least one.
std::vector<Blobref> blobrefs_of(JsonView ref);
/// The entries of a dir: an object of tree objects by name.
JsonView entries_of(JsonView dir);

struct Link {
    std::string_view target;
    std::optional<std::string_view> name_space;
};
/// Where a symlink points; borrowed from the object.
Link link_of(JsonView symlink);

/// The canonical text: equal objects have equal bytes, so equal hashes.
std::string encode(JsonView object);
/// Parse and validate. \throws Error EINVAL
Json decode(std::string_view text);

} // namespace flux::treeobj
