// Options of commands that print events, and what they ask for.
#pragma once

#include "cmd/formats.hpp"
#include "cmd/output/event_text.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace flux::cmd {

inline constexpr options::Option event_format_options[] = {
    {.name = "format",
     .key = 'f',
     .value = options::Value::required,
     .argument = "FORMAT",
     .help = "Specify output format: text, json"},
    {.name = "time-format",
     .key = 'T',
     .value = options::Value::required,
     .argument = "FORMAT",
     .help = "Specify time format: raw, iso, offset, human"},
    {.name = "human", .key = 'H', .help = "Display human-readable output"},
    color_row(),
};

inline constexpr options::Option event_match_options[] = {
    {.name = "timeout",
     .key = 't',
     .value = options::Value::required,
     .argument = "DURATION",
     .help = "timeout after DURATION"},
    {.name = "match-context",
     .key = 'm',
     .value = options::Value::required,
     .argument = "KEY=VAL",
     .help = "match key=val in context"},
    {.name = "count",
     .key = 'c',
     .value = options::Value::required,
     .argument = "COUNT",
     .help = "required number of matches (default 1)"},
    {.name = "quiet", .key = 'q', .help = "Do not output matched event"},
    {.name = "verbose", .key = 'v', .help = "Output all events before matched event"},
};

/// Prints events, each as soon as it is there.
class EventPrinter {
public:
    EventPrinter(output::EventTime time, bool color, bool json) : text_(time, color), json_(json) {}
    /// As event_format_options ask for. \throws Error, Exit
    explicit EventPrinter(const options::Parsed& parsed);
    void print(const EventlogEntry& event);

private:
    output::EventText text_;
    bool json_;
};

/// The event that event_match_options wait for.
class EventMatch {
public:
    /// \throws Error, Exit
    EventMatch(const options::Parsed& parsed, std::string_view name);

    /// Whether `event` is the last of those that were to come.
    bool completed_by(const EventlogEntry& event);
    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
    std::vector<std::pair<std::string, Json>> context_;
    unsigned missing_;
};

/// `--timeout`; nothing when it is not given or infinite. \throws Error
std::optional<std::chrono::nanoseconds> timeout_option(const options::Parsed& parsed);

} // namespace flux::cmd
