// Eventlogs (RFC 18): one event a line, {"timestamp":…,"name":…,"context":{…}}.
#pragma once

#include <flux/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

struct EventlogEntry {
    double timestamp; ///< seconds since 1970
    std::string name;
    Json context; ///< an object, or null when there is none

    /// An event of now.
    explicit EventlogEntry(std::string_view name, Json context = {});
    /// \throws Error EINVAL for an empty name, a context that is no object, a time that is not positive.
    EventlogEntry(double timestamp, std::string_view name, Json context = {});

    /// Decode one line, which ends with the only newline in it. \throws Error EINVAL
    static EventlogEntry decode(std::string_view line);
    /// Read the JSON object of an event; members that are not known are ignored. \throws Error EINVAL
    static EventlogEntry from_json(JsonView object);

    /// The line, newline included.
    std::string encode() const;
    Json to_json() const;
    EventlogEntry copy() const { return EventlogEntry(timestamp, name, context.copy()); }
};

/// All events of a log; what follows the last newline is ignored.
/// \throws Error EINVAL for a bad line, or when there is text but not one whole line.
std::vector<EventlogEntry> decode_eventlog(std::string_view text);

/// Decodes a log that comes in pieces of any size.
class EventlogDecoder {
public:
    /// An unfinished line longer than this is an error: somebody sends what is no eventlog.
    static constexpr std::size_t max_line = std::size_t{16} << 20;

    /// Take in the next piece. \throws Error EINVAL when a line is too long.
    void feed(std::string_view piece);
    /// The next whole event; nothing until more is fed. \throws Error EINVAL for a bad line.
    std::optional<EventlogEntry> next();
    /// Whether the pieces so far end within a line (once next() gave nothing).
    bool has_partial_line() const noexcept { return begin_ < buffer_.size(); }

private:
    std::string buffer_;
    std::size_t begin_ = 0; // of the first line not yet given out
    std::size_t end_ = 0;   // of the last whole line
};

} // namespace flux
