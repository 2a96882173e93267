#include "progress.hpp"

#include <flux/kvs_protocol.hpp>
#include <flux/treeobj.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::kvs_watch {
namespace {

namespace flag = kvs_protocol;

constexpr int watch_flags = flag::watch_full | flag::watch_unique | flag::watch_append | flag::watch_initial_sentinel;

} // namespace

Progress::Progress(int flags, bool streaming) : flags_(flags), sentinel_due_(flags & flag::watch_initial_sentinel) {
    bool watch = flags & flag::watch, stream = flags & flag::stream;
    if ((watch || stream) && !streaming) throw Error(EPROTO, "kvs-watch: the request is not streaming");
    if (watch && stream) throw Error(EINVAL, "kvs-watch: either watch or stream");
    if (!watch && flags & watch_flags) throw Error(EINVAL, "kvs-watch: flags without watch");
    if (flags & flag::watch_initial_sentinel && !(flags & flag::watch_append))
        throw Error(EINVAL, "kvs-watch: a sentinel needs watch_append");
}

bool Progress::in_pieces() const noexcept { return flags_ & (flag::watch_append | flag::stream); }
bool Progress::wait_create() const noexcept { return flags_ & flag::wait_create; }
bool Progress::every_version() const noexcept { return flags_ & flag::watch_full; }

int Progress::lookup_flags() const noexcept {
    return in_pieces() ? flag::treeobj : flags_ & (flag::readdir | flag::readlink | flag::treeobj);
}

void Progress::restore(JsonView cursor) {
    found_ = cursor.get<bool>("found");
    sentinel_due_ = cursor.get<bool>("sentinel");
    last_ = cursor.get<std::string>("last");
    pieces_ = cursor.get<std::size_t>("pieces");
}

Json Progress::cursor() const {
    return Json::object("found", found_, "sentinel", sentinel_due_, "last", last_, "pieces", pieces_);
}

Progress::Action Progress::missing() {
    if (!waiting()) throw Error(ENOENT);
    Action action;
    action.sentinel = sentinel_due_;
    return action;
}

Progress::Action Progress::found(JsonView object, Cause cause) {
    if (!in_pieces()) return changed_value(object, cause);
    auto action = found_ ? more_pieces(object, cause) : first_pieces(object);
    found_ = true;
    action.sentinel = sentinel_due_;
    action.end = flags_ & flag::stream;
    return action;
}

Progress::Action Progress::changed_value(JsonView object, Cause cause) {
    Action action;
    auto text = object.dump_sorted();
    bool always = cause == Cause::named && !(flags_ & (flag::watch_unique | flag::watch_full));
    if (found_ && !always && text == last_) return action;
    action.value = object.copy();
    action.end = !(flags_ & flag::watch);
    found_ = true;
    last_ = std::move(text);
    return action;
}

void Progress::refuse(JsonView object) const {
    auto type = treeobj::type_of(object);
    bool directory = type == treeobj::Type::dir || type == treeobj::Type::dirref;
    const char* what = flags_ & flag::stream ? "streamed" : "watched with WATCH_APPEND";
    throw Error(directory ? EISDIR : EINVAL,
                fmt::format("{} cannot be {}", object.get<std::string_view>("type"), what));
}

Progress::Action Progress::first_pieces(JsonView object) {
    Action action;
    switch (treeobj::type_of(object)) {
    case treeobj::Type::val:
        action.value = object.copy();
        last_.clear();
        pieces_ = 1;
        return action;
    case treeobj::Type::valref: action.pieces = treeobj::blobrefs_of(object); return action;
    default: refuse(object);
    }
}

Progress::Action Progress::more_pieces(JsonView object, Cause cause) {
    Action action;
    switch (treeobj::type_of(object)) {
    case treeobj::Type::val:
        // With one piece and no blob the value is what was sent, unless somebody has put another.
        if (pieces_ == 1 && last_.empty() && cause == Cause::changed) return action;
        if (pieces_ > 1) throw Error(EINVAL, "key watched with WATCH_APPEND truncated");
        throw Error(EINVAL, "value of key watched with WATCH_APPEND overwritten");
    case treeobj::Type::valref: break;
    default: refuse(object);
    }
    auto blobs = treeobj::blobrefs_of(object);
    if (blobs.size() < pieces_) throw Error(EINVAL, "key watched with WATCH_APPEND shortened");
    if (pieces_ > 0 && !last_.empty() && blobs[pieces_ - 1].to_string() != last_)
        throw Error(EINVAL, "value of key watched with WATCH_APPEND overwritten");
    action.pieces.assign(blobs.begin() + static_cast<std::ptrdiff_t>(pieces_), blobs.end());
    return action;
}

void Progress::sent(const Blobref& piece) {
    last_ = piece.to_string();
    ++pieces_;
}

} // namespace flux::kvs_watch
