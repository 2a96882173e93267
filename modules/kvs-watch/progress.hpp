// What one watcher has sent, and what follows from what is found at its key next. No messages here.
#pragma once

#include <flux/blobref.hpp>
#include <flux/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flux::kvs_watch {

/// How a version of the tree became known.
enum class Cause {
    named,   ///< a commit has named the key, or this is the first look
    changed, ///< something may have changed: what is equal to the last value is nothing new
};

class Progress {
public:
    /// \param flags  of kvs_protocol::LookupFlag. \throws Error EPROTO, EINVAL for a wrong combination.
    Progress(int flags, bool streaming);
    /// Go on from the cursor of another instance. \throws Error EPROTO
    void restore(JsonView cursor);
    Json cursor() const;

    /// Flags of the look-ups that the watcher needs.
    int lookup_flags() const noexcept;
    /// Values are sent blob by blob.
    bool in_pieces() const noexcept;
    /// Waits for the key to be made.
    bool waiting() const noexcept { return !found_ && wait_create(); }
    bool wait_create() const noexcept;
    /// Looks at every version, not only at those that name the key.
    bool every_version() const noexcept;

    /// What is to be sent, in this order.
    struct Action {
        std::optional<Json> value;
        std::vector<Blobref> pieces; ///< loaded, as values
        bool sentinel = false;
        bool end = false; ///< and that was all
    };
    /// This object is there. \throws Error that ends the watch.
    Action found(JsonView object, Cause cause);
    /// Nothing is there. \throws Error ENOENT unless it is waited for.
    Action missing();
    /// A piece was sent; the cursor knows.
    void sent(const Blobref& piece);
    void sent_sentinel() noexcept { sentinel_due_ = false; }

private:
    Action first_pieces(JsonView object);
    Action more_pieces(JsonView object, Cause cause);
    Action changed_value(JsonView object, Cause cause);
    [[noreturn]] void refuse(JsonView object) const;

    int flags_;
    bool found_ = false;
    bool sentinel_due_;
    std::string last_;       // last value as text, or blobref of the last piece
    std::size_t pieces_ = 0; // sent
};

} // namespace flux::kvs_watch
