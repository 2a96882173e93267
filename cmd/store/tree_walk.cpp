#include "cmd/store/tree_walk.hpp"

#include <cerrno>

namespace flux::store {
namespace {

std::string join(const std::string& key, std::string_view name) {
    return key.empty() ? std::string(name) : key + "." + std::string(name);
}

bool is_reference(JsonView entry) {
    auto type = entry["type"].try_as<std::string_view>();
    return type == "valref" || type == "dirref" || type == "dir";
}

// Its entries are looked at when the walk comes to them.
Json decode_directory(std::string_view bytes) {
    Json object;
    try {
        object = Json::parse(bytes);
        if (treeobj::type_of(object) == treeobj::Type::dir) return treeobj::entries_of(object).copy();
    } catch (const Error&) {
        throw Error(EINVAL, "could not decode tree object");
    }
    throw Error(EINVAL, "dirref references non-directory");
}

} // namespace

TreeWalk::Frame::Frame(std::string key, Json entries) : key(std::move(key)), directory(std::move(entries)) {
    auto members = directory.members();
    at = members.begin();
    end = members.end();
}

TreeWalk::TreeWalk(Ask load, Ask value, std::size_t requests)
    : load_(std::move(load)), value_(std::move(value)), limit_(requests) {}

void TreeWalk::add(std::string key, const Blobref& directory) {
    if (enter && !enter(directory)) return;
    items_.push_back({std::move(key), treeobj::Type::dirref, {directory}, 0, {}, {}});
}

Task<bool> TreeWalk::next(Found* found) {
    if (std::exchange(at_value_, false)) {
        under_way_ -= items_.front().calls.size();
        items_.pop_front();
    }
    for (;;) {
        *found = Found();
        if (inline_ && next_inline(*found)) co_return true;
        collect();
        ask();
        if (items_.empty()) co_return false;
        auto& item = items_.front();
        found->key = item.key;
        found->type = item.type;
        found->blobs = item.blobs;
        if (item.type == treeobj::Type::valref) {
            at_value_ = true;
            co_return true;
        }
        if (item.directory)
            inline_ = std::move(item.directory);
        else
            co_await open(&item, found);
        items_.pop_front();
        co_return true;
    }
}

Task<Message> TreeWalk::next_blob() {
    auto& item = items_.front();
    auto call = std::move(item.calls.front());
    item.calls.pop_front();
    std::optional<Error> failure;
    try {
        auto response = co_await call;
        --under_way_;
        ask();
        co_return std::move(response);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure = error;
    }
    --under_way_;
    ask();
    throw *failure;
}

// Values and links of the directory that was opened last, and what is neither and no reference.
bool TreeWalk::next_inline(Found& found) {
    while (inline_->at != inline_->end) {
        auto [name, entry] = *inline_->at;
        ++inline_->at;
        if (is_reference(entry)) continue;
        found.key = join(inline_->key, name);
        found.object = entry;
        try {
            treeobj::validate(entry);
            found.type = treeobj::type_of(entry);
        } catch (const Error&) {
            found.failure = Error(EINVAL, "invalid tree object");
            found.malformed = true;
        }
        return true;
    }
    inline_->at = inline_->directory.members().begin();
    frames_.push_back(std::move(inline_));
    return false;
}

// Take references out of the innermost directory, as many as may be asked for.
void TreeWalk::collect() {
    while (!frames_.empty() && items_.size() < limit_) {
        auto& frame = *frames_.back();
        if (frame.at == frame.end) {
            frames_.pop_back();
            continue;
        }
        auto [name, entry] = *frame.at;
        ++frame.at;
        if (is_reference(entry)) collect_entry(join(frame.key, name), entry);
    }
}

void TreeWalk::collect_entry(const std::string& key, JsonView entry) {
    Item item{key, treeobj::Type::dirref, {}, 0, {}, {}};
    try {
        item.type = treeobj::type_of(entry);
        if (item.type == treeobj::Type::dir)
            item.directory = std::make_unique<Frame>(key, treeobj::entries_of(entry).copy());
        else
            item.blobs = treeobj::blobrefs_of(entry);
    } catch (const Error&) {}
    if (item.type == treeobj::Type::dirref && item.blobs.size() == 1 && enter && !enter(item.blobs[0])) return;
    items_.push_back(std::move(item));
}

void TreeWalk::ask() {
    for (auto& item : items_) {
        bool directory = item.type == treeobj::Type::dirref;
        const auto& asking = directory ? load_ : value_;
        if (!asking || (directory && item.blobs.size() != 1)) continue;
        for (; item.asked < item.blobs.size(); ++item.asked, ++under_way_) {
            if (under_way_ >= limit_) return;
            item.calls.push_back(asking(item.blobs[item.asked]));
        }
    }
}

Task<> TreeWalk::open(Item* item, Found* found) {
    if (item->blobs.size() != 1) {
        found->failure = Error(EINVAL, item->blobs.empty() ? "invalid tree object" : "dirref blobref count is not 1");
        found->malformed = true;
        co_return;
    }
    auto call = std::move(item->calls.front());
    item->calls.pop_front();
    try {
        auto response = co_await call;
        auto bytes = response.payload ? response.payload.bytes() : std::string_view();
        found->malformed = true;
        inline_ = std::make_unique<Frame>(item->key, decode_directory(bytes));
        found->malformed = false;
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        found->failure = error;
    }
    --under_way_;
}

} // namespace flux::store
