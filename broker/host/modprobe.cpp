#include "broker/host/modprobe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace flux::broker {
namespace {

void update_entry(Modprobe::Entry& entry, JsonView table, const std::string& source) {
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

bool in_environment(const std::string& name) { return std::getenv(name.c_str()) != nullptr; }

} // namespace

void Modprobe::add(JsonView manifest, const std::string& source) {
    for (auto [key, value] : manifest.members()) {
        if (key == "modules" && value.is_array()) {
            for (auto table : value.elements()) {
                auto name = table["name"].try_as<std::string>();
                if (!name) throw Error(EINVAL, fmt::format("{}: a module has no name", source));
                Entry entry;
                entry.name = *name;
                update_entry(entry, table, source);
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

bool Modprobe::wanted(const Entry& entry) const {
    return !entry.disabled && rank_matches(entry.ranks, facts_.rank) &&
           all_hold(entry.needs_config, facts_.config_has) && all_hold(entry.needs_attrs, facts_.attribute_set) &&
           all_hold(entry.needs_env, in_environment);
}

// The active module that offers a service: the chosen alternative, else the one of highest priority.
std::string Modprobe::provider(const std::string& service) const {
    if (active_.contains(service)) return service;
    for (const auto& name : active_) {
        const auto& provides = entries_.at(name).provides;
        if (std::find(provides.begin(), provides.end(), service) != provides.end()) return name;
    }
    return {};
}

void Modprobe::select(Facts facts) {
    facts_ = std::move(facts);
    for (auto& [service, module] : facts_.alternatives) alternatives_[service] = module;
    std::set<std::string> disabled;
    if (const char* list = std::getenv("FLUX_MODPROBE_DISABLE")) {
        std::string_view rest(list);
        while (!rest.empty()) {
            auto word = rest.substr(0, rest.find(','));
            disabled.emplace(word);
            rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        }
    }
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

void Modprobe::sort() {
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

namespace {

/// Progress of one load_all or remove_all, shared by its tasks.
class Progress {
public:
    Progress() {}
    std::set<std::string> done;
    std::string failed; ///< first module that failed
    Error why{EINVAL};
    std::size_t running = 0;
    Condition changed;
};

Task<> load_one(ModuleHost* host, ModuleSpec spec, std::set<std::string> after, std::shared_ptr<Progress> progress) {
    auto ready = [&] {
        return std::all_of(after.begin(), after.end(),
                           [&](const auto& other) { return progress->done.contains(other); });
    };
    try {
        while (progress->failed.empty() && !ready()) co_await progress->changed.wait();
        if (progress->failed.empty() && !host->loaded(spec.name)) co_await host->load(spec);
        progress->done.insert(spec.name);
    } catch (const Cancelled&) {
        if (progress->failed.empty()) progress->failed = spec.name;
    } catch (const Error& error) {
        if (progress->failed.empty()) {
            progress->failed = spec.name;
            progress->why = Error(error.errnum(), error.what());
        }
    }
    --progress->running;
    progress->changed.notify_all();
}

} // namespace

Task<> Modprobe::load_all(ModuleHost& host, Scope& scope) {
    auto progress = std::make_shared<Progress>(); // outlives this call when it is aborted
    for (const auto& name : order_) {
        const auto& entry = entries_.at(name);
        ModuleSpec spec;
        spec.name = name;
        spec.path = entry.module.empty() ? name : entry.module;
        spec.args = entry.args;
        spec.process = entry.exec;
        ++progress->running;
        scope.spawn("module load", &load_one, &host, std::move(spec), predecessors_[name], progress);
    }
    while (progress->running > 0) co_await progress->changed.wait();
    if (!progress->failed.empty())
        throw Error(progress->why.errnum(), fmt::format("module {}: {}", progress->failed, progress->why.what()));
}

Task<> Modprobe::remove_all(ModuleHost& host, const std::function<void(LogLevel, const std::string&)>& log) {
    // Modules loaded by hand go first, they may use any of ours.
    auto names = host.names();
    std::stable_sort(names.begin(), names.end(), [this](const std::string& a, const std::string& b) {
        auto place = [this](const std::string& name) {
            return std::find(order_.begin(), order_.end(), name) - order_.begin();
        };
        return place(a) > place(b);
    });
    for (const auto& name : names) {
        try {
            co_await host.remove(name, false, false);
        } catch (const Error& error) {
            if (host.loaded(name)) log(LogLevel::err, fmt::format("module {}: {}", name, error.what()));
        }
    }
}

std::vector<std::string> Modprobe::cleanup_commands() const {
    std::vector<std::string> commands;
    for (const auto& name : order_) {
        const auto& entry = entries_.at(name);
        commands.insert(commands.end(), entry.cleanup.begin(), entry.cleanup.end());
    }
    return commands;
}

std::vector<std::string> Modprobe::dependants(const std::string& name, const ModuleHost& host) const {
    std::vector<std::string> result;
    auto found = entries_.find(name);
    for (const auto& other : active_) {
        if (!host.loaded(other)) continue;
        for (const auto& needed : entries_.at(other).requires_) {
            bool ours = needed == name;
            if (found != entries_.end()) {
                const auto& provides = found->second.provides;
                ours = ours || std::find(provides.begin(), provides.end(), needed) != provides.end();
            }
            if (ours) {
                result.push_back(other);
                break;
            }
        }
    }
    return result;
}

} // namespace flux::broker
