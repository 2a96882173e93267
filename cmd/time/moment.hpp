// Points in time as people type them (`--since`, `--begin-time`).
#pragma once

#include <string_view>

namespace flux::moment {

/// Seconds since 1970 of `now`, `+DURATION`, `-DURATION`, or what date(1) understands: `3pm`, `tomorrow 9am`,
/// `2031-04-05 6:30`. A day without time of day begins at midnight. \throws Error EINVAL
double parse(std::string_view text);

} // namespace flux::moment
