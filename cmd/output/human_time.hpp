// Times in front of lines that follow each other.
#pragma once

#include <string>

namespace flux::output {

/// `2026-11-29T16:11:10.909100Z`, local time with its zone.
std::string iso_time(double timestamp);
/// Seconds since 1970 of such a text; 0 when it is none.
double parse_iso_time(const std::string& text);

/// `[Nov29 16:11]` when the minute changes, else `[  +1.500000]` since that line or the one before.
class HumanTime {
public:
    /// \param delta  since the line before.
    explicit HumanTime(bool delta = false) : delta_(delta) {}

    struct Stamp {
        std::string text;
        bool minute; ///< the date and time of day
    };
    Stamp next(double timestamp);

private:
    bool delta_;
    std::string minute_;
    double base_ = 0;
};

} // namespace flux::output
