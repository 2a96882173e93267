#include <flux/eventlog.hpp>

#include <cerrno>
#include <chrono>

namespace flux {
namespace {

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(const std::string& why) { throw Error(EINVAL, "eventlog: " + why); }

} // namespace

EventlogEntry::EventlogEntry(std::string_view name, Json context)
    : EventlogEntry(wall_clock(), name, std::move(context)) {}

EventlogEntry::EventlogEntry(double timestamp, std::string_view name, Json context)
    : timestamp(timestamp), name(name), context(std::move(context)) {
    if (!(timestamp > 0)) fail("timestamp is not positive");
    if (name.empty()) fail("event without a name");
    if (!this->context.is_object() && !this->context.is_null()) fail("context is not an object");
}

EventlogEntry EventlogEntry::from_json(JsonView object) {
    auto timestamp = object["timestamp"].try_as<double>();
    auto name = object["name"].try_as<std::string_view>();
    auto context = object["context"];
    if (!timestamp) fail("event without a timestamp");
    if (!name) fail("event without a name");
    if (context && !context.is_object()) fail("context is not an object");
    return EventlogEntry(*timestamp, *name, context.copy());
}

EventlogEntry EventlogEntry::decode(std::string_view line) {
    if (line.find('\n') + 1 != line.size() || line.empty()) fail("an event is one line");
    try {
        return from_json(Json::parse(line.substr(0, line.size() - 1), "event"));
    } catch (const Error& error) {
        throw Error(EINVAL, error.text());
    }
}

std::string EventlogEntry::encode() const {
    auto line = "{\"timestamp\":" + Json(timestamp).dump() + ",\"name\":" + Json(name).dump();
    if (context.is_object()) line += ",\"context\":" + context.dump();
    return line + "}\n";
}

Json EventlogEntry::to_json() const {
    auto object = Json::object("timestamp", timestamp, "name", name);
    if (context.is_object()) object.set("context", context.copy());
    return object;
}

std::vector<EventlogEntry> decode_eventlog(std::string_view text) {
    if (!text.empty() && text.find('\n') == text.npos) fail("unfinished line");
    std::vector<EventlogEntry> entries;
    for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        entries.push_back(EventlogEntry::decode(text.substr(0, end + 1)));
        text.remove_prefix(end + 1);
    }
    return entries;
}

void EventlogDecoder::feed(std::string_view piece) {
    buffer_.erase(0, begin_);
    end_ -= begin_;
    begin_ = 0;
    auto newline = piece.rfind('\n');
    if (newline != piece.npos) end_ = buffer_.size() + newline + 1;
    buffer_ += piece;
    if (buffer_.size() - end_ > max_line) fail("line is too long");
}

std::optional<EventlogEntry> EventlogDecoder::next() {
    if (begin_ >= end_) return std::nullopt;
    auto line = std::string_view(buffer_).substr(begin_, buffer_.find('\n', begin_) + 1 - begin_);
    begin_ += line.size();
    return EventlogEntry::decode(line);
}

} // namespace flux
