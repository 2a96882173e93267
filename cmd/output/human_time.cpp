#include "cmd/output/human_time.hpp"

#include "cmd/output/convert.hpp"

#include <cmath>
#include <cstdio>
#include <ctime>

namespace flux::output {

std::string iso_time(double timestamp) {
    auto seconds = std::floor(timestamp);
    auto microseconds = static_cast<int>(std::lround((timestamp - seconds) * 1e6));
    if (microseconds == 1'000'000) microseconds = 0, ++seconds;
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06d", microseconds);
    auto zone = local_time(seconds, "%z"); // +0100
    if (zone == "+0000")
        zone = "Z";
    else if (zone.size() == 5)
        zone.insert(3, ":");
    return local_time(seconds, "%Y-%m-%dT%H:%M:%S") + fraction + zone;
}

double parse_iso_time(const std::string& text) {
    tm utc{};
    double seconds = 0;
    int end = 0;
    if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
                    &utc.tm_min, &seconds, &end) != 6)
        return 0;
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    int hours = 0, minutes = 0;
    const char sign = text[static_cast<std::size_t>(end)];
    if (sign == '+' || sign == '-') std::sscanf(text.c_str() + end + 1, "%2d:%2d", &hours, &minutes);
    auto offset = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return static_cast<double>(::timegm(&utc)) + seconds - offset;
}

HumanTime::Stamp HumanTime::next(double timestamp) {
    auto minute = local_time(std::floor(timestamp), "%b%d %H:%M");
    const bool changed = minute != minute_;
    Stamp stamp{"[" + minute + "]", changed};
    if (!changed) {
        char text[64];
        std::snprintf(text, sizeof text, "[%+11.6f]", timestamp - base_);
        stamp.text = text;
    }
    minute_ = std::move(minute);
    if (changed || delta_) base_ = timestamp;
    return stamp;
}

} // namespace flux::output
