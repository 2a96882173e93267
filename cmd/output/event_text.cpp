#include "cmd/output/event_text.hpp"

#include "cmd/output/color.hpp"

#include <flux/error.hpp>

#include <array>
#include <cerrno>
#include <cstdio>

namespace flux::output {
namespace {

namespace paint {
constexpr const char* green = "\033[32m";
constexpr const char* bold_green = "\033[01;32m";
constexpr const char* yellow = "\033[33m";
constexpr const char* bold_red = "\033[01;31m";
constexpr const char* blue = "\033[34m";
constexpr const char* magenta = "\033[35m";
constexpr const char* grey = "\033[37m";
} // namespace paint

std::string print(const char* format, double number) {
    std::array<char, 400> text;
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

} // namespace

EventTime parse_event_time(std::string_view name) {
    if (name == "raw") return EventTime::raw;
    if (name == "iso") return EventTime::iso;
    if (name == "offset") return EventTime::offset;
    if (name == "reltime") return EventTime::reltime;
    if (name == "human") return EventTime::human;
    throw Error(EINVAL, "invalid time-format type '" + std::string(name) + "'");
}

std::string EventText::painted(const char* color, std::string text) const {
    if (!color_) return text;
    return color + std::move(text) + std::string(sgr::plain_reset);
}

std::string EventText::time(double timestamp) {
    if (!first_) first_ = last_ = timestamp;
    auto before = std::exchange(last_, timestamp);
    switch (time_) {
    case EventTime::raw: return painted(paint::green, print("%f", timestamp));
    case EventTime::iso: return painted(paint::green, iso_time(timestamp));
    case EventTime::offset: return painted(paint::green, print("%f", timestamp - *first_));
    case EventTime::reltime: return painted(paint::green, print("%f", timestamp - before));
    case EventTime::human: break;
    }
    auto [text, minute] = human_.next(timestamp);
    return painted(minute ? paint::bold_green : paint::green, std::move(text));
}

std::string EventText::line(const EventlogEntry& event) {
    auto text =
        time(event.timestamp) + " " + painted(event.name == "exception" ? paint::bold_red : paint::yellow, event.name);
    if (event.context.is_null()) return text;
    for (auto [key, value] : event.context.members()) {
        text += " " + painted(paint::blue, std::string(key)) + "=";
        auto json = value.dump();
        if (value.is_string())
            text += painted(paint::magenta, json);
        else if (value.is_number())
            text += painted(paint::grey, json);
        else
            text += json;
    }
    return text;
}

} // namespace flux::output
