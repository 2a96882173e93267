#include <flux/byte_size.hpp>
#include <flux/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>

namespace flux {
namespace {

constexpr std::string_view units = "KMGTPE";

} // namespace

std::uint64_t parse_byte_size(std::string_view text) {
    double number;
    auto [end, status] = std::from_chars(text.begin(), text.end(), number, std::chars_format::fixed);
    auto unit = text.substr(static_cast<std::size_t>(end - text.begin()));
    auto place = unit == "k" ? 0 : unit.size() == 1 ? units.find(unit[0]) : units.npos;
    if (status == std::errc() && std::isfinite(number) && !std::signbit(number) &&
        (unit.empty() || place != units.npos)) {
        auto bytes = unit.empty() ? number : std::ldexp(number, static_cast<int>(10 * (place + 1)));
        if (bytes < std::ldexp(1.0, 63)) return static_cast<std::uint64_t>(bytes);
    }
    throw Error(EINVAL, fmt::format("invalid size '{}'", text));
}

std::string format_byte_size(std::uint64_t bytes) {
    auto value = static_cast<double>(bytes);
    std::string_view unit;
    for (std::size_t i = 0; value >= 1024 && i < units.size(); ++i) {
        value /= 1024;
        unit = units.substr(i, 1);
    }
    return fmt::format("{:.6g}{}", value, unit);
}

} // namespace flux
