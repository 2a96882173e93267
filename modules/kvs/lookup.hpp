// Looking up a key: a walk that stops at what it needs and goes on when it is there.
#pragma once

#include "working_tree.hpp"

#include <flux/blobref.hpp>
#include <flux/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flux::kvs_store {

class Lookup {
public:
    /// A directory that is not in memory: have the source know it (or throw), then step() again.
    struct NeedDirectory {
        Blobref ref;
    };
    /// A link leads there: call enter() with the root of that namespace, then step() again.
    struct NeedNamespace {
        std::string name;
    };
    /// The value is made of these blobs, in this order.
    struct Blobs {
        std::vector<Blobref> refs;
    };
    using Step = std::variant<Json, NeedDirectory, NeedNamespace, Blobs>;

    /// \param flags  readdir, readlink, treeobj of kvs_protocol::LookupFlag.
    Lookup(std::string_view key, int flags, const Blobref& root);

    /// Go on. A Json is the object that was looked for.
    /// \throws Error ENOENT, ENOTDIR, EISDIR, EINVAL, ELOOP, ENOTRECOVERABLE; what the source throws.
    Step step(const DirectorySource& source);
    void enter(const Blobref& root);

private:
    // One path in one tree; a link on the way is a level of its own that ends in what it points to.
    struct Level {
        Blobref root;
        std::vector<std::string> path;
        std::size_t position = 0;
        DirectoryPtr directory; // in which path[position] is looked for
    };
    bool last() const noexcept;
    std::optional<NeedNamespace> follow(const Entry& link);
    Step result(const Entry& found, const DirectorySource& source) const;

    std::string key_;
    int flags_;
    std::vector<Level> levels_;
    std::vector<std::string> target_; // of the link that waits for enter()
};

} // namespace flux::kvs_store
