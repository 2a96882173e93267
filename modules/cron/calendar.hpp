// Dates and times of day as crontabs name them. Pure: the time comes from the caller, the time zone from TZ.
#pragma once

#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <array>
#include <optional>

namespace flux::cron {

class Calendar {
public:
    /// Fields `second` (0-60), `minute`, `hour`, `mday` (1-31), `month` (0-11), `year` (since 1900), `weekday` (0-6);
    /// each an integer or a text of `*`, `N`, `A-B`, these with `/STEP`, and lists of them by commas; absent is `*`.
    /// \throws Error EINVAL naming the field
    explicit Calendar(JsonView fields);

    /// The first second after `time` (since 1970) that matches all fields; nothing within the next two years.
    std::optional<double> next_after(double time) const;
    /// The fields as idsets.
    Json to_json() const;

private:
    enum Field { second, minute, hour, mday, month, year, weekday, field_count };
    std::array<Idset, field_count> sets_;
};

} // namespace flux::cron
