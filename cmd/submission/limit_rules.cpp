#include "cmd/submission/limit_rules.hpp"

#include "cmd/submission/pattern.hpp"

#include <flux/error.hpp>
#include <flux/parse_integer.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sys/resource.h>

namespace flux::submission {
namespace {

struct Limit {
    std::string_view name;
    int resource;
    bool by_default;
};

constexpr Limit limits[] = {
    {"cpu", RLIMIT_CPU, true},        {"fsize", RLIMIT_FSIZE, true},
    {"data", RLIMIT_DATA, true},      {"stack", RLIMIT_STACK, true},
    {"core", RLIMIT_CORE, true},      {"nofile", RLIMIT_NOFILE, true},
    {"as", RLIMIT_AS, true},          {"rss", RLIMIT_RSS, true},
    {"nproc", RLIMIT_NPROC, true},    {"memlock", RLIMIT_MEMLOCK, false},
    {"ofile", RLIMIT_NOFILE, false},  {"msgqueue", RLIMIT_MSGQUEUE, false},
    {"nice", RLIMIT_NICE, false},     {"rtprio", RLIMIT_RTPRIO, false},
    {"rttime", RLIMIT_RTTIME, false}, {"sigpending", RLIMIT_SIGPENDING, false},
};

std::int64_t current(const Limit& limit) {
    rlimit value{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) < 0 || value.rlim_cur == RLIM_INFINITY)
        return -1;
    return static_cast<std::int64_t>(std::min<rlim_t>(value.rlim_cur, INT64_MAX));
}

[[noreturn]] void refuse(std::string_view rule, const char* why) {
    throw Error(EINVAL, "--rlimit: '" + std::string(rule) + "': " + why);
}

} // namespace

LimitRules::LimitRules() {
    for (std::size_t index = 0; index < std::size(limits); ++index)
        if (limits[index].by_default) limits_[index] = current(limits[index]);
}

void LimitRules::apply(std::string_view rule) {
    while (!rule.empty()) {
        auto one = rule.substr(0, rule.find(','));
        if (!one.empty()) apply_one(one);
        rule.remove_prefix(std::min(one.size() + 1, rule.size()));
    }
}

void LimitRules::apply_one(std::string_view rule) {
    if (rule.starts_with('-')) {
        auto matches = compile_pattern(rule.substr(1));
        std::erase_if(limits_, [&](const auto& entry) { return matches(limits[entry.first].name); });
        return;
    }
    auto equals = rule.find('=');
    auto matches = compile_pattern(rule.substr(0, equals));
    std::optional<std::int64_t> given;
    if (equals != std::string_view::npos) {
        auto text = rule.substr(equals + 1);
        given = text == "unlimited" || text == "infinity" || text == "inf" ? -1 : parse_integer<std::int64_t>(text);
        if (!given) refuse(rule, "the value is no number");
    }
    bool found = false;
    for (std::size_t index = 0; index < std::size(limits); ++index) {
        if (!matches(limits[index].name)) continue;
        limits_[index] = given ? *given : current(limits[index]);
        found = true;
    }
    if (!found) refuse(rule, "no such limit");
}

Json LimitRules::to_json() const {
    auto object = Json::object();
    for (const auto& [index, value] : limits_) object.set(limits[index].name, value);
    return object;
}

} // namespace flux::submission
