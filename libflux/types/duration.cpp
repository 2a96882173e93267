#include <flux/duration.hpp>
#include <flux/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>

namespace flux {
namespace {

constexpr double minute = 60, hour = 60 * minute, day = 24 * hour;

struct Unit {
    std::string_view name;
    double seconds;
};
constexpr Unit units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", minute}, {"h", hour}, {"d", day}};

} // namespace

double parse_duration(std::string_view text) {
    double number;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::general);
    auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
    if (status == std::errc() && !std::signbit(number) && !std::isnan(number)) {
        for (auto [name, seconds] : units)
            if (unit == name && (std::isfinite(number) || name.empty())) return number * seconds;
    }
    throw Error(EINVAL, fmt::format("invalid duration '{}'", text));
}

std::string format_duration(double seconds, int digits) {
    if (std::isnan(seconds) || seconds < 0) throw Error(EINVAL, fmt::format("invalid duration {}", seconds));
    if (std::isinf(seconds)) return "infinity";
    auto in = [&](double unit, const char* name) { return fmt::format("{:.{}g}{}", seconds / unit, digits, name); };
    if (seconds < 0.1) return in(0.001, "ms");
    if (seconds < minute) return in(1, "s");
    if (seconds < hour) return in(minute, "m");
    if (seconds < day) return in(hour, "h");
    return in(day, "d");
}

} // namespace flux
