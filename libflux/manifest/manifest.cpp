#include "libflux/manifest/manifest.hpp"

#include <flux/config_files.hpp>
#include <flux/error.hpp>
#include <flux/idset.hpp>
#include <flux/paths.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace flux {
namespace {

void update_entry(Manifest::Entry& entry, JsonView table, const std::string& source) {
    auto list = [](JsonView value) {
        if (value.is_string()) return std::vector<std::string>{value.as<std::string>()};
        return value.as<std::vector<std::string>>();
    };
    for (auto [key, value] : table.members()) {
        try {
            if (key == "name")
                entry.name = value.as<std::string>();
            else if (key == "module")
                entry.module = value.as<std::string>();
            else if (key == "args")
                entry.args = list(value);
            else if (key == "provides")
                entry.provides = list(value);
            else if (key == "requires")
                entry.requires_ = list(value);
            else if (key == "after")
                entry.after = list(value);
            else if (key == "before")
                entry.before = list(value);
            else if (key == "cleanup")
                entry.cleanup = list(value);
            else if (key == "needs")
                entry.needs = list(value);
            else if (key == "needs-config")
                entry.needs_config = list(value);
            else if (key == "needs-attrs")
                entry.needs_attrs = list(value);
            else if (key == "needs-env")
                entry.needs_env = list(value);
            else if (key == "ranks")
                entry.ranks = value.is_integer() ? std::to_string(value.as<int>()) : value.as<std::string>();
            else if (key == "priority")
                entry.priority = value.as<int>();
            else if (key == "disabled")
                entry.disabled = value.as<bool>();
            else if (key == "exec")
                entry.exec = value.as<bool>();
            else
                throw Error(EINVAL, "unknown key");
        } catch (const Error& error) {
            throw Error(EINVAL, fmt::format("{}: module {}: {}: {}", source, entry.name, key, error.what()));
        }
    }
}

bool rank_matches(const std::string& ranks, std::uint32_t rank) {
    if (ranks.empty() || ranks == "all") return true;
    if (ranks.front() == '>') return rank > std::stoul(ranks.substr(1));
    if (ranks.front() == '<') return rank < std::stoul(ranks.substr(1));
    return Idset::parse(ranks).test(rank);
}

// Each name may be negated by `!`.
bool all_hold(const std::vector<std::string>& names, const std::function<bool(const std::string&)>& holds) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return name.starts_with("!") ? !holds(name.substr(1)) : holds(name);
    });
}

std::vector<std::string> split(const char* text, char separator = ':') {
    std::vector<std::string> parts;
    for (std::string_view rest = text ? text : ""; !rest.empty();) {
        auto part = rest.substr(0, rest.find(separator));
        if (!part.empty()) parts.emplace_back(part);
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    }
    return parts;
}

bool in_environment(const std::string& name) { return std::getenv(name.c_str()) != nullptr; }

} // namespace

void Manifest::add(JsonView table, const std::string& source) {
    for (auto [key, value] : table.members()) {
        if (key == "modules" && value.is_array()) {
            for (auto module : value.elements()) {
                auto name = module["name"].try_as<std::string>();
                if (!name) throw Error(EINVAL, fmt::format("{}: a module has no name", source));
                Entry entry;
                entry.name = *name;
                update_entry(entry, module, source);
                entries_[*name] = entry;
            }
        } else if (key == "alternatives") {
            for (auto [service, module] : value.members())
                alternatives_[std::string(service)] = module.as<std::string>();
        } else if (value.is_object()) {
            auto found = entries_.find(std::string(key));
            if (found == entries_.end()) throw Error(EINVAL, fmt::format("{}: no module is named {}", source, key));
            update_entry(found->second, value, source);
        }
    }
}

bool Manifest::wanted(const Entry& entry) const {
    return !entry.disabled && rank_matches(entry.ranks, facts_.rank) &&
           all_hold(entry.needs_config, facts_.config_has) && all_hold(entry.needs_attrs, facts_.attribute_set) &&
           all_hold(entry.needs_env, in_environment);
}

bool Manifest::offers(const std::string& name, const std::string& service) const {
    auto found = entries_.find(name);
    if (found == entries_.end()) return false;
    const auto& provides = found->second.provides;
    return std::find(provides.begin(), provides.end(), service) != provides.end();
}

// The active module that offers a service: the chosen alternative, else the one of highest priority.
std::string Manifest::provider(const std::string& service) const {
    if (active_.contains(service)) return service;
    for (const auto& name : active_)
        if (offers(name, service)) return name;
    return {};
}

void Manifest::select(Facts facts) {
    facts_ = std::move(facts);
    for (auto& [service, module] : facts_.alternatives) alternatives_[service] = module;
    std::set<std::string> disabled;
    for (auto& name : split(std::getenv("FLUX_MODPROBE_DISABLE"), ',')) disabled.insert(std::move(name));
    active_.clear();
    for (const auto& [name, entry] : entries_) {
        if (!disabled.contains(name) && wanted(entry)) active_.insert(name);
    }
    // Of several that provide the same service one stays.
    std::map<std::string, std::string> chosen;
    for (const auto& name : active_) {
        for (const auto& service : entries_.at(name).provides) {
            auto& best = chosen[service];
            auto asked = alternatives_.find(service);
            if (asked != alternatives_.end())
                best = asked->second;
            else if (best.empty() || entries_.at(name).priority > entries_.at(best).priority)
                best = name;
        }
    }
    for (auto& [service, name] : chosen) {
        if (name != "none" && !active_.contains(name))
            throw Error(EINVAL, fmt::format("{} cannot provide {}: no such module here", name, service));
    }
    std::erase_if(active_, [&](const std::string& name) {
        const auto& provides = entries_.at(name).provides;
        return !provides.empty() && std::none_of(provides.begin(), provides.end(),
                                                 [&](const std::string& service) { return chosen[service] == name; });
    });
    // `needs`: skipped unless the other is active.
    for (bool changed = true; changed;) {
        changed = std::erase_if(active_, [&](const std::string& name) {
                      return !all_hold(entries_.at(name).needs,
                                       [&](const std::string& other) { return !provider(other).empty(); });
                  }) > 0;
    }
    for (const auto& name : active_) {
        for (const auto& needed : entries_.at(name).requires_) {
            bool elsewhere = !provider(needed).empty();
            for (const auto& [other, entry] : entries_) {
                // A module that runs on other ranks only is reached by message.
                bool offers = other == needed ||
                              std::find(entry.provides.begin(), entry.provides.end(), needed) != entry.provides.end();
                elsewhere = elsewhere || (offers && !rank_matches(entry.ranks, facts_.rank));
            }
            if (!elsewhere) throw Error(EINVAL, fmt::format("module {} requires {}, which is not there", name, needed));
        }
    }
    sort();
}

void Manifest::sort() {
    predecessors_.clear();
    for (const auto& name : active_) {
        auto& mine = predecessors_[name];
        for (const auto& other : entries_.at(name).after) {
            if (auto found = provider(other); !found.empty()) mine.insert(found);
        }
        for (const auto& other : entries_.at(name).before) {
            if (auto found = provider(other); !found.empty()) predecessors_[found].insert(name);
        }
    }
    order_.clear();
    std::set<std::string> done;
    while (order_.size() < active_.size()) {
        auto before = order_.size();
        for (const auto& name : active_) {
            if (done.contains(name)) continue;
            const auto& mine = predecessors_[name];
            if (!std::all_of(mine.begin(), mine.end(), [&](const auto& other) { return done.contains(other); }))
                continue;
            order_.push_back(name);
            done.insert(name);
        }
        if (order_.size() == before) throw Error(EINVAL, "modules wait for each other in a circle");
    }
}

void Manifest::add_installed(JsonView config) {
    auto installed = paths::datadir() + "/modprobe";
    auto file = installed + "/modprobe.toml";
    add(read_config(file), file);
    auto folders = split(std::getenv("FLUX_MODPROBE_PATH"));
    if (folders.empty()) folders = {installed, paths::sysconfdir() + "/flux/modprobe"};
    for (auto& folder : split(std::getenv("FLUX_MODPROBE_PATH_APPEND"))) folders.push_back(std::move(folder));
    for (auto& folder : folders) {
        folder += "/modprobe.d";
        if (std::filesystem::is_directory(folder)) add(read_config(folder), folder);
    }
    add(config["modules"], "[modules]");
}

void Manifest::disable(const std::string& name) {
    auto found = entries_.find(name);
    if (found == entries_.end()) throw Error(ENOENT, fmt::format("no module is named {}", name));
    found->second.disabled = true;
}

const Manifest::Entry* Manifest::find(const std::string& name) const {
    auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
}

std::set<std::string> Manifest::attributes() const {
    std::set<std::string> names;
    for (const auto& [name, entry] : entries_)
        for (const auto& attribute : entry.needs_attrs)
            names.insert(attribute.starts_with("!") ? attribute.substr(1) : attribute);
    return names;
}

Json Manifest::Entry::to_json() const {
    return Json::object("name", name, "module", file(), "args", args, "ranks", ranks.empty() ? "all" : ranks,
                        "provides", provides, "requires", requires_, "needs", needs, "before", before, "after", after,
                        "priority", priority, "disabled", disabled, "exec", exec);
}

std::vector<std::string> Manifest::cleanup_commands() const {
    std::vector<std::string> commands;
    for (const auto& name : order_) {
        const auto& entry = entries_.at(name);
        commands.insert(commands.end(), entry.cleanup.begin(), entry.cleanup.end());
    }
    return commands;
}

std::vector<std::string> Manifest::dependants(const std::string& name) const {
    std::vector<std::string> result;
    for (const auto& other : active_) {
        const auto& needed = entries_.at(other).requires_;
        const bool needs_it = std::any_of(needed.begin(), needed.end(), [&](const std::string& service) {
            return service == name || offers(name, service);
        });
        if (needs_it) result.push_back(other);
    }
    return result;
}

} // namespace flux
