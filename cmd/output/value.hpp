// What a field of a listing holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace flux::output {

/// Nothing is known; prints as nothing whatever the format says.
struct Absent {
    bool operator==(const Absent&) const = default;
};

/// A number that has a spelling of its own, like a job id: the spelling is printed unless a format spec asks for more.
struct Spelled {
    std::int64_t number;
    std::string text;

    bool operator==(const Spelled&) const = default;
};

using Value = std::variant<Absent, bool, std::int64_t, double, std::string, Spelled>;

/// The plain text: `True`, `2.0`, `1e+16`; nothing for an absent value.
std::string to_text(const Value& value);
std::string to_text(double number);
/// Quoted, with escapes for what cannot be printed (and for all that is not ASCII).
std::string to_quoted(const Value& value, bool ascii_only);
/// The value as a number, if it is one or looks like one.
std::optional<double> to_number(const Value& value);
/// Whether this text stands for "nothing to tell": empty, no duration, the epoch.
bool is_empty_text(std::string_view text);

} // namespace flux::output
