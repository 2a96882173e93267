// Flux Standard Duration (RFC 23): `1.5h`, `30`, `infinity`, in seconds.
#pragma once

#include <string>
#include <string_view>

namespace flux {

/// Seconds of a text like `2ms`, `0.5s`, `30`, `5m`, `1.2h`, `5d`, `inf`. \throws Error EINVAL
double parse_duration(std::string_view text);

/// The text of a duration in the largest unit that it fills: `500ms`, `1.5h`, `infinity`.
/// \param digits  significant digits of the number.
/// \throws Error EINVAL when it is negative or no number.
std::string format_duration(double seconds, int digits = 6);

} // namespace flux
