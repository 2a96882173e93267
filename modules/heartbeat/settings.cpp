#include "settings.hpp"

#include <flux/duration.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cmath>

namespace flux {
namespace {

constexpr const char* default_period = "2s";
constexpr const char* default_timeout = "5m";
// Far more than anybody waits, and still a number of nanoseconds.
constexpr double max_seconds = 3e8;

std::chrono::nanoseconds nanoseconds(double seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

double parse(const char* key, std::string_view text) {
    try {
        return parse_duration(text);
    } catch (const Error& error) {
        throw Error(EINVAL, fmt::format("heartbeat.{}: {}", key, error.what()));
    }
}

void check_types(JsonView table) {
    for (auto [key, value] : table.members()) {
        bool known_text = key == "period" || key == "timeout";
        if (!known_text && key != "warn_thresh") throw Error(EINVAL, fmt::format("unknown key '{}'", key));
        const char* expected = known_text ? "string" : "integer";
        if (known_text ? !value.is_string() : !value.is_integer())
            throw Error(EINVAL, fmt::format("Expected {}, got {}", expected, value.type_name()));
    }
}

} // namespace

HeartbeatSettings::HeartbeatSettings(JsonView config, const std::optional<std::string>& period_argument) {
    auto table = config["heartbeat"];
    try {
        if (table && !table.is_object()) throw Error(EINVAL, fmt::format("Expected object, got {}", table.type_name()));
        check_types(table);
    } catch (const Error& error) {
        throw error.while_doing("error reading [heartbeat] config table");
    }
    warn_thresh = table.get_or("warn_thresh", warn_thresh);
    auto period_text = period_argument.value_or(table.get_or<std::string>("period", default_period));
    auto period_seconds = parse("period", period_text);
    if (!(period_seconds > 0 && period_seconds < max_seconds))
        throw Error(EINVAL, fmt::format("heartbeat.period '{}' must be above 0 and finite", period_text));
    timeout_text = table.get_or<std::string>("timeout", default_timeout);
    auto timeout_seconds = parse("timeout", timeout_text);
    if (!(timeout_seconds < max_seconds)) timeout_seconds = 0;
    if (timeout_seconds > 0 && timeout_seconds < 2 * period_seconds)
        throw Error(EINVAL, fmt::format("heartbeat.timeout '{}' must be at least twice heartbeat.period '{}'",
                                        timeout_text, period_text));
    period = nanoseconds(period_seconds);
    timeout = nanoseconds(timeout_seconds);
}

} // namespace flux
