#include "service/options.hpp"

#include <flux/parse_integer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace flux::sched_service {
namespace {

// The only kind of resource pool there is.
constexpr std::string_view pool_class = "Rv1Pool";
constexpr std::array<std::string_view, 8> levels = {"emerg",   "alert",  "crit", "err",
                                                    "warning", "notice", "info", "debug"};

std::optional<std::size_t> parse_depth(std::string_view text) {
    if (text == "unlimited") return std::nullopt;
    auto depth = parse_integer<std::size_t>(text);
    if (!depth || *depth == 0)
        throw Error(EINVAL,
                    fmt::format("queue-depth='{}' is invalid: expected a positive integer or 'unlimited'", text));
    return depth;
}

// The older way to write the depth.
std::optional<std::size_t> parse_mode(std::string_view text) {
    constexpr std::string_view limited = "limited=";
    if (text == "unlimited") return std::nullopt;
    auto number = text.starts_with(limited) ? text.substr(limited.size()) : text;
    auto depth = parse_integer<std::size_t>(number);
    if (!text.starts_with(limited) || !depth || *depth == 0)
        throw Error(EINVAL, fmt::format("mode=limited= requires a positive integer, got '{}'", number));
    return depth;
}

} // namespace

Options::Options(const std::vector<std::string>& arguments, const std::string& default_depth)
    : queue_depth(parse_depth(default_depth)) {
    for (const auto& argument : arguments) {
        auto equals = argument.find('=');
        auto key = std::string_view(argument).substr(0, equals);
        auto value = equals == argument.npos ? std::string_view() : std::string_view(argument).substr(equals + 1);
        if (key == "queue-depth") {
            queue_depth = parse_depth(value);
        } else if (key == "mode") {
            queue_depth = parse_mode(value);
        } else if (key == "log-level") {
            auto found = std::find(levels.begin(), levels.end(), value);
            if (found == levels.end())
                throw Error(EINVAL, fmt::format("log-level='{}' is invalid: expected one of {}", value,
                                                fmt::join(levels, ", ")));
            log_level = static_cast<LogLevel>(found - levels.begin());
            log_level_name = value;
        } else if (key == "pool-class") {
            if (value != pool_class)
                throw Error(EINVAL, fmt::format("pool-class='{}': could not load pool class", value));
        } else if (argument == "test-hello-nopartial") {
            partial_ok = false;
        } else {
            throw Error(EINVAL, fmt::format("unknown argument '{}': built-in options are queue-depth, log-level, "
                                            "pool-class",
                                            argument));
        }
    }
}

} // namespace flux::sched_service
