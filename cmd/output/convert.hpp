// The conversions of the format language: `{field!C}`.
#pragma once

#include <cmd/output/value.hpp>
#include <string>
#include <string_view>

namespace flux::output {

/// \param conversion  one of d D F H P s r a.
/// \param pattern     strftime(3) pattern of `!d`; empty means date and time of day.
/// \throws Error EINVAL for other conversions, and when the value is no number where one is needed.
Value convert(const Value& value, char conversion, std::string_view pattern);

/// A duration in the short form of listings: `2.807s`, `1.5h`, `inf`.
std::string listing_duration(double seconds);
/// `H:MM:SS`, with days before it from one day on.
std::string clock_duration(double seconds);
/// Local time. Patterns whose text is longer than a line give nothing.
std::string local_time(double seconds, const std::string& pattern);

} // namespace flux::output
