#include "calendar.hpp"

#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <ctime>

namespace flux::cron {
namespace {

struct Range {
    const char* name;
    Idset::Id first, last;
};

constexpr Range ranges[] = {{"second", 0, 60}, {"minute", 0, 59}, {"hour", 0, 23},  {"mday", 1, 31},
                            {"month", 0, 11},  {"year", 0, 1100}, {"weekday", 0, 6}};
constexpr int days_ahead = 2 * 366;

[[noreturn]] void refuse(const Range& range, std::string_view text) {
    throw Error(EINVAL, fmt::format("cron: {} '{}': expected {}-{}, '*', ranges, or a list of them", range.name, text,
                                    range.first, range.last));
}

Idset::Id number(const Range& range, std::string_view text, std::string_view whole) {
    auto value = parse_integer<Idset::Id>(text);
    if (!value || *value < range.first || *value > range.last) refuse(range, whole);
    return *value;
}

void add_element(Idset& set, const Range& range, std::string_view text, std::string_view whole) {
    Idset::Id step = 1;
    if (auto slash = text.find('/'); slash != text.npos) {
        auto value = parse_integer<Idset::Id>(text.substr(slash + 1));
        if (!value || *value == 0) refuse(range, whole);
        step = *value;
        text = text.substr(0, slash);
    }
    auto first = range.first, last = range.last;
    if (text != "*") {
        auto dash = text.find('-');
        first = number(range, text.substr(0, dash), whole);
        last = dash == text.npos ? first : number(range, text.substr(dash + 1), whole);
        if (last < first) refuse(range, whole);
    }
    for (std::uint64_t value = first; value <= last; value += step) set.set(static_cast<Idset::Id>(value));
}

Idset parse_field(const Range& range, JsonView value) {
    if (!value) return Idset::of_range(range.first, range.last);
    Idset set;
    std::string text = value.is_integer() ? value.dump() : value.try_as<std::string>().value_or("");
    std::string_view rest = text;
    for (bool more = true; more;) {
        auto comma = rest.find(',');
        add_element(set, range, rest.substr(0, comma), text);
        more = comma != rest.npos;
        if (more) rest.remove_prefix(comma + 1);
    }
    return set;
}

// The first member that is at least `value`.
std::optional<Idset::Id> at_least(const Idset& set, int value) {
    auto id = static_cast<Idset::Id>(value);
    return set.test(id) ? id : set.next(id);
}

} // namespace

Calendar::Calendar(JsonView fields) {
    for (int field = 0; field < field_count; ++field)
        sets_[field] = parse_field(ranges[field], fields[ranges[field].name]);
}

Json Calendar::to_json() const {
    auto json = Json::object();
    for (int field = 0; field < field_count; ++field) json.set(ranges[field].name, sets_[field].encode());
    return json;
}

std::optional<double> Calendar::next_after(double time) const {
    auto seconds = static_cast<std::time_t>(time) + 1;
    std::tm start{};
    ::localtime_r(&seconds, &start);
    for (int ahead = 0; ahead <= days_ahead; ++ahead) {
        std::tm day = start;
        day.tm_mday += ahead;
        if (ahead > 0) day.tm_hour = day.tm_min = day.tm_sec = 0;
        day.tm_isdst = -1;
        if (::mktime(&day) == -1) return std::nullopt;
        auto has = [&](Field field, int value) { return sets_[field].test(static_cast<Idset::Id>(value)); };
        if (!has(year, day.tm_year) || !has(month, day.tm_mon) || !has(mday, day.tm_mday) || !has(weekday, day.tm_wday))
            continue;
        int minute_from = day.tm_min, second_from = day.tm_sec;
        for (auto h = at_least(sets_[hour], day.tm_hour); h; h = sets_[hour].next(*h)) {
            if (static_cast<int>(*h) != day.tm_hour) minute_from = second_from = 0;
            for (auto m = at_least(sets_[minute], minute_from); m; m = sets_[minute].next(*m)) {
                if (static_cast<int>(*m) != minute_from) second_from = 0;
                auto s = at_least(sets_[second], second_from);
                if (!s) continue;
                std::tm found = day;
                found.tm_hour = static_cast<int>(*h);
                found.tm_min = static_cast<int>(*m);
                found.tm_sec = static_cast<int>(*s);
                found.tm_isdst = -1;
                return static_cast<double>(::mktime(&found));
            }
        }
    }
    return std::nullopt;
}

} // namespace flux::cron
