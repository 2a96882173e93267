#include "options.hpp"

#include <flux/duration.hpp>
#include <flux/resource_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <set>

namespace flux::resource {
namespace {

void check_keys(JsonView table) {
    static const std::set<std::string_view> known = {"path",       "config",      "scheduling",     "exclude",
                                                     "norestrict", "noverify",    "verify",         "rediscover",
                                                     "history",    "journal-max", "no-update-watch"};
    std::string unknown;
    std::size_t count = 0;
    for (auto [key, value] : table.members()) {
        if (known.contains(key)) continue;
        unknown += fmt::format("{}{}", count++ ? ", " : "", key);
    }
    if (count > 0) throw Error(EINVAL, fmt::format("{} object item(s) left unpacked: {}", count, unknown));
}

double parse_history(std::string_view text) {
    try {
        return parse_duration(text);
    } catch (const Error&) {
        throw Error(EINVAL, "invalid history time");
    }
}

} // namespace

Options::Options(JsonView config) {
    auto table = config["resource"];
    try {
        if (table && !table.is_object()) throw Error(EINVAL, fmt::format("Expected object, got {}", table.type_name()));
        check_keys(table);
        exclude = table.get_or("exclude", std::string());
        norestrict = table.get_or("norestrict", false);
        noverify = table.get_or("noverify", false);
        rediscover = table.get_or("rediscover", false);
        no_update_watch = table.get_or("no-update-watch", false);
        journal_max = table.get_or("journal-max", journal_max);
        if (auto text = table.get_optional<std::string>("history")) history = parse_history(*text);
        if (auto verify = table["verify"]) {
            verify_given = true;
            verification = Verification(verify);
        }
        table.get_or("path", std::string());
        table.get_or("scheduling", std::string());
    } catch (const Error& error) {
        throw Error(EINVAL, fmt::format("error parsing [resource] configuration: {}", error.what()));
    }
    bootstrap = config.contains("bootstrap");
    bool systemd = config.find("systemd.enable").try_as<bool>().value_or(false);
    online_group = systemd ? resource_protocol::sdmon_online_group : resource_protocol::online_group;
}

void Options::add_arguments(const std::vector<std::string>& arguments) {
    for (const auto& argument : arguments) {
        if (argument == "monitor-force-up")
            monitor_force_up = true;
        else if (argument == "noverify")
            noverify = true;
        else if (argument == "notruncate")
            notruncate = true;
        else
            throw Error(EINVAL, "unknown option: " + argument);
    }
}

} // namespace flux::resource
