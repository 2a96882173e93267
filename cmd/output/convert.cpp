#include <flux/error.hpp>

#include <array>
#include <cerrno>
#include <cmath>
#include <cmd/output/convert.hpp>
#include <cstdio>
#include <ctime>

namespace flux::output {

namespace {

constexpr double minute = 60, hour = 60 * minute, day = 24 * hour;
constexpr const char* date_and_time = "%FT%T";
constexpr double seconds_max = 1e17; // beyond this calendars and clocks make no sense

std::string print(const char* format, double number) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

std::string percentage(double fraction) {
    const auto percent = fraction * 100;
    return print(percent > 0 && percent < 1 ? "%.2f%%" : "%.3g%%", percent);
}

} // namespace

std::string listing_duration(double seconds) {
    if (std::isinf(seconds)) return "inf";
    if (!(seconds >= 0.001)) return "0s";
    if (seconds < 10) return print("%.03fs", seconds);
    if (seconds < minute) return print("%.4gs", seconds);
    if (seconds < hour) return print("%.4gm", seconds / minute);
    if (seconds < day) return print("%.4gh", seconds / hour);
    return print("%.4gd", seconds / day);
}

std::string clock_duration(double seconds) {
    if (!(std::fabs(seconds) < seconds_max)) return listing_duration(seconds);
    // What has begun is never shown as nothing.
    const auto rounded = seconds > 0 && seconds < 1 ? 1.0 : std::nearbyint(seconds);
    const auto days = std::floor(rounded / day);
    const auto rest = static_cast<int>(rounded - days * day);
    std::array<char, 32> clock;
    std::snprintf(clock.data(), clock.size(), "%d:%02d:%02d", rest / 3600, rest / 60 % 60, rest % 60);
    if (days == 0) return clock.data();
    return print("%.0f", days) + (std::fabs(days) == 1 ? " day, " : " days, ") + clock.data();
}

std::string local_time(double seconds, const std::string& pattern) {
    if (!(std::fabs(seconds) < seconds_max)) throw Error(EINVAL, "timestamp " + to_text(seconds) + " is out of range");
    const auto time = static_cast<std::time_t>(std::floor(seconds));
    std::tm fields{};
    if (!::localtime_r(&time, &fields)) throw Error(EINVAL, "timestamp " + to_text(seconds) + " is out of range");
    std::array<char, 4096> text;
    return {text.data(), std::strftime(text.data(), text.size(), pattern.c_str(), &fields)};
}

Value convert(const Value& value, char conversion, std::string_view pattern) {
    switch (conversion) {
    case 's': return to_text(value);
    case 'r': return to_quoted(value, false);
    case 'a': return to_quoted(value, true);
    case 'd':
    case 'D':
    case 'F':
    case 'H':
    case 'P': break;
    default: throw Error(EINVAL, std::string("Unknown conversion specifier ") + conversion);
    }
    const auto text = to_text(value);
    if (text.empty()) return std::string();
    const auto number = to_number(value);
    if (!number) throw Error(EINVAL, std::string("'") + text + "' is no number, which !" + conversion + " needs");
    switch (conversion) {
    case 'F': return listing_duration(*number);
    case 'H': return clock_duration(*number);
    case 'P': return percentage(*number);
    default:
        if (*number == 0) return std::string();
        return local_time(*number, conversion == 'D' || pattern.empty() ? date_and_time : std::string(pattern));
    }
}

} // namespace flux::output
