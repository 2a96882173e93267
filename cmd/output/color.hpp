// Colour of listings: when, and the sequences that are used.
#pragma once

#include <optional>
#include <string_view>

namespace flux::output {

/// Whether to colour.
/// \param given     whether `--color` stands on the command line.
/// \param when      its value: `always` (also without a value), `never`, `auto`.
/// \param terminal  whether the output is a terminal.
/// \param no_color  NO_COLOR of the environment or null; it counts when the option is not given.
/// \throws Error EINVAL for another value.
bool color_wanted(bool given, std::optional<std::string_view> when, bool terminal, const char* no_color);

namespace sgr {
inline constexpr std::string_view green = "\033[01;32m";
inline constexpr std::string_view red = "\033[01;31m";
inline constexpr std::string_view yellow = "\033[01;33m";
inline constexpr std::string_view blue = "\033[01;34m";
inline constexpr std::string_view grey = "\033[37m";
inline constexpr std::string_view reset = "\033[0;0m";     // of listing commands
inline constexpr std::string_view plain_reset = "\033[0m"; // of plain commands
} // namespace sgr

} // namespace flux::output
