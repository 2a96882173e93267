#include "cmd/submission/environment_rules.hpp"

#include "cmd/submission/pattern.hpp"

#include <flux/error.hpp>
#include <flux/json.hpp>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace flux::submission {
namespace {

bool is_utf8(std::string_view text) {
    try {
        Json ignored(text);
        return true;
    } catch (const Error&) {
        return false;
    }
}

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string with_home(std::string_view path) {
    const char* home = std::getenv("HOME");
    if (home && (path == "~" || path.starts_with("~/"))) return home + std::string(path.substr(1));
    return std::string(path);
}

} // namespace

Environment process_environment() {
    Environment environment;
    for (char** entry = environ; entry && *entry; ++entry) {
        std::string_view text(*entry);
        auto equals = text.find('=');
        if (equals == std::string_view::npos || equals == 0 || !is_utf8(text)) continue;
        environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return environment;
}

void EnvironmentRules::apply(std::string_view rule) {
    if (rule.starts_with('-')) return remove(rule.substr(1));
    if (rule.starts_with('^')) return apply_file(rule.substr(1));
    auto equals = rule.find('=');
    if (equals == std::string_view::npos) return bring_back(rule);
    if (equals == 0) throw Error(EINVAL, "--env: '" + std::string(rule) + "' names no variable");
    set(rule.substr(0, equals), rule.substr(equals + 1));
}

void EnvironmentRules::remove(std::string_view pattern) {
    auto matches = compile_pattern(pattern);
    std::erase_if(environment_, [&](const auto& entry) { return matches(entry.first); });
    std::erase_if(templates_, [&](const auto& entry) { return matches(entry.first); });
}

void EnvironmentRules::apply_file(std::string_view path) {
    auto name = with_home(path);
    std::ifstream file(name);
    if (!file) throw Error(errno, errno_text(errno) + ": '" + name + "'");
    for (std::string line; std::getline(file, line);) {
        auto begin = line.find_first_not_of(" \t\r");
        if (begin == std::string::npos) continue;
        apply(std::string_view(line).substr(begin));
    }
}

void EnvironmentRules::set(std::string_view name, std::string_view value) {
    if (value.find("{{") != std::string_view::npos) {
        templates_.insert_or_assign(std::string(name), std::string(value));
        return;
    }
    environment_.insert_or_assign(std::string(name), expand(name, value));
}

std::string EnvironmentRules::expand(std::string_view name, std::string_view value) const {
    auto refuse = [&](const std::string& why) -> std::string {
        throw Error(EINVAL, "--env: " + why + " in '" + std::string(name) + "=" + std::string(value) + "'");
    };
    std::string text;
    for (auto rest = value; !rest.empty();) {
        auto dollar = rest.find('$');
        text += rest.substr(0, dollar);
        if (dollar == std::string_view::npos) break;
        rest.remove_prefix(dollar + 1);
        if (rest.starts_with('$')) {
            text += '$';
            rest.remove_prefix(1);
            continue;
        }
        std::string_view variable;
        if (rest.starts_with('{')) {
            auto end = rest.find('}');
            if (end == std::string_view::npos) return refuse("unclosed '${'");
            variable = rest.substr(1, end - 1);
            rest.remove_prefix(end + 1);
        } else {
            std::size_t size = 0;
            while (size < rest.size() && is_name_character(rest[size])) ++size;
            variable = rest.substr(0, size);
            rest.remove_prefix(size);
        }
        if (variable.empty()) return refuse("'$' without a variable");
        if (auto own = environment_.find(variable); own != environment_.end())
            text += own->second;
        else if (auto outer = process_.find(variable); outer != process_.end())
            text += outer->second;
        else
            return refuse("unknown variable $" + std::string(variable));
    }
    return text;
}

void EnvironmentRules::bring_back(std::string_view pattern) {
    auto matches = compile_pattern(pattern);
    for (const auto& [name, value] : process_)
        if (matches(name)) environment_.try_emplace(name, value);
}

} // namespace flux::submission
