// A walk through a KVS tree as it is in the content store. Several loads are under way; in memory is what is on the way
// to where the walk is, however large the tree is.
//
// Of each directory come first the values and links that are in it, then what it refers to.
#pragma once

#include <flux/handle.hpp>
#include <flux/treeobj.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::store {

class TreeWalk {
public:
    using Ask = std::function<Call(const Blobref&)>;
    /// Where the walk has come to.
    class Found {
    public:
        Found() {}
        std::string key; ///< empty: the root
        treeobj::Type type = treeobj::Type::val;
        /// What makes that the end of the way: a directory cannot be loaded (`malformed` is false), or something is no
        /// tree object.
        std::optional<Error> failure;
        bool malformed = false;
        JsonView object;            ///< of a value or link: until next()
        std::vector<Blobref> blobs; ///< of a reference
    };

    /// \param load      asks for a directory.
    /// \param value     asks for a blob of a value; may be empty: nobody wants them.
    /// \param requests  how many may be under way.
    TreeWalk(Ask load, Ask value, std::size_t requests);

    /// Walk this too.
    void add(std::string key, const Blobref& directory);
    /// Go on. False at the end.
    Task<bool> next(Found* found);
    /// What was answered for the next blob of the value that was found. \throws Error
    Task<Message> next_blob();

    /// Called with the blob of each directory before it is loaded; false: leave it out.
    std::function<bool(const Blobref&)> enter;

private:
    // A directory and how far it was gone through.
    struct Frame {
        Frame(std::string key, Json directory);
        std::string key;
        Json directory;
        JsonView::MemberIterator at, end;
    };
    using FramePtr = std::unique_ptr<Frame>;
    // Something that was referred to.
    struct Item {
        std::string key;
        treeobj::Type type;
        std::vector<Blobref> blobs;
        std::size_t asked = 0;
        std::deque<Call> calls;
        FramePtr directory; // of a dir, which is not stored by itself
    };

    bool next_inline(Found& found);
    void collect();
    void collect_entry(const std::string& key, JsonView entry);
    void ask();
    Task<> open(Item* item, Found* found);

    Ask load_;
    Ask value_;
    std::size_t limit_;
    std::size_t under_way_ = 0;
    FramePtr inline_;              // whose values and links are found next
    std::vector<FramePtr> frames_; // whose references are found next, innermost last
    std::deque<Item> items_;       // references in order, the first being the value that was found last
    bool at_value_ = false;
};

} // namespace flux::store
