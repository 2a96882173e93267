// Events of eventlogs as lines for people.
#pragma once

#include "cmd/output/human_time.hpp"

#include <flux/eventlog.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace flux::output {

/// How times of events are written.
enum class EventTime {
    raw,     ///< seconds since 1970
    iso,     ///< local date and time
    offset,  ///< seconds since the first event
    reltime, ///< seconds since the event before
    human,   ///< date and minute when they change, else seconds since then
};

/// \throws Error EINVAL `invalid time-format type 'X'`
EventTime parse_event_time(std::string_view name);

class EventText {
public:
    EventText(EventTime time, bool color) : time_(time), color_(color) {}

    /// `TIME NAME key=VALUE …`, without newline. Times that depend on other events take them in the order of calls.
    std::string line(const EventlogEntry& event);

private:
    std::string time(double timestamp);
    std::string painted(const char* color, std::string text) const;

    EventTime time_;
    bool color_;
    std::optional<double> first_;
    double last_ = 0;
    HumanTime human_;
};

} // namespace flux::output
