#include "broker/bootstrap/tbon_table.hpp"

#include <flux/byte_size.hpp>
#include <flux/duration.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace flux::broker {
namespace {

void check_text(std::string_view) {}
void check_duration(std::string_view text) { parse_duration(text); }
void check_hold_timeout(std::string_view text) {
    if (text != "none") parse_duration(text);
}
void check_size(std::string_view text) { parse_byte_size(text); }

struct Text {
    std::string_view name;
    void (*check)(std::string_view);
};
constexpr Text texts[] = {
    {"topo", check_text},
    {"interface-hint", check_text},
    {"torpid_min", check_duration},
    {"torpid_max", check_duration},
    {"tcp_user_timeout", check_duration},
    {"connect_timeout", check_duration},
    {"hold-timeout", check_hold_timeout},
    {"hold-limit", check_size},
};

struct Number {
    std::string_view name;
    bool (*fits)(std::int64_t);
    const char* rule;
};
constexpr Number numbers[] = {
    {"zmqdebug", [](std::int64_t) { return true; }, ""},
    {"zmq_io_threads", [](std::int64_t value) { return value >= 1; }, "must be >= 1"},
    {"child_rcvhwm", [](std::int64_t value) { return value == 0 || value >= 2; }, "must be 0 or >= 2"},
};

template <class Table> auto find(const Table& table, std::string_view name) {
    return std::find_if(std::begin(table), std::end(table), [&](const auto& entry) { return entry.name == name; });
}

void check(std::string_view name, JsonView value) {
    auto expect = [&](bool right, const char* type) {
        if (!right) throw Error(EINVAL, fmt::format("Expected {}, got {}", type, value.type_name()));
    };
    if (auto text = find(texts, name); text != std::end(texts)) {
        expect(value.is_string(), "string");
        return text->check(value.as<std::string_view>());
    }
    auto number = find(numbers, name);
    expect(value.is_integer(), "integer");
    if (!number->fits(value.as<std::int64_t>())) throw Error(EINVAL, number->rule);
}

} // namespace

void check_tbon_table(JsonView table) {
    if (table && !table.is_object())
        throw Error(EINVAL, fmt::format("Config file error [tbon]: expected a table, got {}", table.type_name()));
    for (auto [name, value] : table.members()) {
        if (find(texts, name) == std::end(texts) && find(numbers, name) == std::end(numbers))
            throw Error(EINVAL, fmt::format("Config file error [tbon]: unknown key '{}'", name));
        try {
            check(name, value);
        } catch (const Error& error) {
            throw Error(EINVAL, fmt::format("Config file error parsing tbon.{}: {}", name, error.what()));
        }
    }
}

} // namespace flux::broker
