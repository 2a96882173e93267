// A transaction as it comes in a `kvs.commit`, checked and decoded.
#pragma once

#include "tree.hpp"

#include <string>
#include <vector>

namespace flux::kvs_store {

struct Operation {
    std::string key; ///< normalised
    bool append = false;
    EntryPtr entry;    ///< what is put under the last name of the key; nothing: unlink
    std::string value; ///< bytes of an entry that is a val: to be appended, or a blob
    bool blob = false; ///< the entry is a val too long to stay one: it has no data of its own
};

using Operations = std::vector<Operation>;

/// Longest base64 text that stays in its directory; a longer value becomes a blob.
inline constexpr std::size_t inline_limit = 72;
/// Whether the `data` of a val (with its quotes) is too long for that.
inline bool too_long(const Entry& val) noexcept { return val.data.size() > inline_limit + 2; }

/// Read the `ops` of a commit. \throws Error EPROTO, EINVAL as RFC 11 and kvs-content.md 4.4 have it.
Operations decode_operations(JsonView ops);
/// \throws Error EPERM when there is something that a guest may not commit.
void check_guest(const Operations& operations);

} // namespace flux::kvs_store
