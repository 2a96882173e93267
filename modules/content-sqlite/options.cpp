#include "options.hpp"

#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace flux {
namespace {

constexpr std::array<std::string_view, 6> journal_modes = {"DELETE", "TRUNCATE", "PERSIST", "MEMORY", "WAL", "OFF"};
constexpr std::array<std::string_view, 4> sync_modes = {"EXTRA", "FULL", "NORMAL", "OFF"};

template <std::size_t N>
void check_choice(std::string_view key, std::string_view value, const std::array<std::string_view, N>& choices) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
        throw Error(EINVAL, fmt::format("invalid {} '{}'", key, value));
}

std::int64_t parse_number(std::string_view key, std::string_view text) {
    auto number = parse_integer<std::int64_t>(text);
    if (!number) throw Error(EINVAL, fmt::format("invalid {} '{}'", key, text));
    return *number;
}

class Parser {
public:
    Parser(DatabaseOptions& options, std::vector<std::string>& notices) : options_(options), notices_(notices) {}

    void journal_mode(std::string_view value) {
        check_choice("journal_mode", value, journal_modes);
        if (value != "WAL") notices_.push_back(fmt::format("journal_mode {} is not used: it is always WAL", value));
    }
    void synchronous(std::string_view value) {
        check_choice("synchronous", value, sync_modes);
        options_.synchronous = value;
    }
    void max_checkpoints(std::int64_t value) {
        if (value < 1 || value > 1'000'000) throw Error(EINVAL, fmt::format("invalid max_checkpoints {}", value));
        options_.max_checkpoints = static_cast<int>(value);
    }
    void preallocate(std::int64_t value) {
        if (value < 0) throw Error(EINVAL, fmt::format("invalid preallocate {}", value));
        options_.preallocate = value;
    }
    void config(JsonView table) {
        if (auto value = table.get_optional<std::string_view>("journal_mode")) journal_mode(*value);
        if (auto value = table.get_optional<std::string_view>("synchronous")) synchronous(*value);
        if (auto value = table.get_optional<std::int64_t>("max_checkpoints")) max_checkpoints(*value);
        if (auto value = table.get_optional<std::int64_t>("preallocate")) preallocate(*value);
    }
    void argument(std::string_view argument) {
        auto equals = argument.find('=');
        auto key = argument.substr(0, equals);
        auto value = equals == argument.npos ? std::string_view() : argument.substr(equals + 1);
        if (argument == "truncate")
            options_.truncate = true;
        else if (key == "journal_mode")
            journal_mode(value);
        else if (key == "synchronous")
            synchronous(value);
        else if (key == "max-checkpoints")
            max_checkpoints(parse_number(key, value));
        else if (key == "preallocate")
            preallocate(parse_number(key, value));
        else
            throw Error(EINVAL, fmt::format("unknown argument '{}'", argument));
    }

private:
    DatabaseOptions& options_;
    std::vector<std::string>& notices_;
};

} // namespace

DatabaseOptions parse_options(JsonView config, const std::vector<std::string>& arguments, bool temporary,
                              std::vector<std::string>& notices) {
    DatabaseOptions options;
    if (temporary) options.synchronous = "OFF";
    Parser parser(options, notices);
    try {
        parser.config(config["content-sqlite"]);
    } catch (const Error& error) {
        throw Error(EINVAL, fmt::format("[content-sqlite] config: {}", error.what()));
    }
    for (const auto& argument : arguments) parser.argument(argument);
    return options;
}

} // namespace flux
