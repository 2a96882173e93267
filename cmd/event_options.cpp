#include "cmd/event_options.hpp"

#include "cmd/formats.hpp"

#include <flux/duration.hpp>
#include <flux/error.hpp>
#include <flux/jobspec_builder.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace flux::cmd {
namespace {

output::EventTime event_time(const options::Parsed& parsed) {
    return output::parse_event_time(parsed.get("time-format", parsed.has("human") ? "human" : "raw"));
}

} // namespace

EventPrinter::EventPrinter(const options::Parsed& parsed)
    : EventPrinter(event_time(parsed), choose_color(parsed), parsed.get("format", "text") == "json") {
    auto format = parsed.get("format", "text");
    if (format != "text" && format != "json") throw Error(EINVAL, "invalid format type '" + std::string(format) + "'");
}

void EventPrinter::print(const EventlogEntry& event) {
    if (json_)
        fmt::print("{}", event.encode());
    else
        fmt::print("{}\n", text_.line(event));
    std::fflush(stdout);
}

EventMatch::EventMatch(const options::Parsed& parsed, std::string_view name)
    : name_(name), missing_(parsed.number<unsigned>("count", 1)) {
    if (missing_ == 0) throw Error(EINVAL, "count must be greater than zero");
    for (auto text : parsed.all("match-context")) {
        if (text.find('=') == std::string_view::npos) throw Error(EINVAL, "must specify a context test as key=value");
        context_.push_back(parse_setting(text));
    }
}

bool EventMatch::completed_by(const EventlogEntry& event) {
    auto holds = [&](const auto& test) {
        auto value = event.context[test.first];
        return value && value.equals(test.second);
    };
    if (missing_ == 0 || event.name != name_ || !std::all_of(context_.begin(), context_.end(), holds)) return false;
    return --missing_ == 0;
}

std::optional<std::chrono::nanoseconds> timeout_option(const options::Parsed& parsed) {
    auto text = parsed.find("timeout");
    if (!text) return std::nullopt;
    auto seconds = parse_duration(*text);
    // What is longer than a century need not be timed.
    if (seconds > 3e9) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

} // namespace flux::cmd
