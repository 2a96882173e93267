// flux modprobe: modules with what they require, as the manifest tells (cli.md 6.27).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "libflux/manifest/manifest.hpp"

#include <flux/error.hpp>
#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

namespace flux::cmd {
namespace {

using Names = std::vector<std::string>;

std::string join(const Names& names, std::string_view between) {
    std::string text;
    for (const auto& name : names) text.append(text.empty() ? "" : between).append(name);
    return text;
}

/// The manifest as this broker sees it, and what is loaded.
class Modules {
public:
    Modules() {}

    /// \param changes  what the command line changes in the manifest, or null.
    Task<> fetch(Handle* handle, const options::Parsed* changes) {
        auto config = co_await handle->call("config.get");
        auto loaded_call = handle->call("module.list");
        manifest.add_installed(config.json());
        if (changes) change(*changes);
        std::set<std::string> set_attributes;
        for (const auto& name : manifest.attributes()) {
            auto value = co_await handle->get_attr(name);
            if (value) set_attributes.insert(name);
        }
        Manifest::Facts facts;
        facts.rank = co_await number(handle, "rank");
        facts.size = co_await number(handle, "size");
        facts.config_has = [&](const std::string& key) {
            auto value = config.json().find(key);
            return value && !(value.is_bool() && !value.as<bool>());
        };
        facts.attribute_set = [&](const std::string& name) { return set_attributes.contains(name); };
        manifest.select(std::move(facts));
        auto listed = co_await loaded_call;
        for (auto module : listed.json()["mods"].elements())
            if (module.get<std::string_view>("path") != "builtin") loaded.insert(module.get<std::string>("name"));
        std::set<std::string> placed;
        for (const auto& name : manifest.order()) place(name, placed);
    }

    /// A module by its name or by a service that it offers. \throws Error ENOENT
    const Manifest::Entry& get(const std::string& name) const {
        if (const auto* entry = manifest.find(name)) return *entry;
        if (const auto* entry = manifest.find(manifest.provider(name))) return *entry;
        throw Error(ENOENT, "module " + name + " not found");
    }

    /// Active modules that one requires; services of other ranks are not among them.
    Names required_by(const Manifest::Entry& entry) const {
        Names names;
        for (const auto& service : entry.requires_)
            if (auto name = manifest.provider(service); !name.empty()) names.push_back(name);
        return names;
    }

    /// Modules with all that they require, in order of loading.
    Names with_requirements(const Names& names) const {
        std::set<std::string> all;
        for (const auto& name : names) add_requirements(get(name).name, all);
        Names result(all.begin(), all.end());
        sort(result);
        return result;
    }

    /// Loaded modules that require `name`, without some.
    Names users(const std::string& name, const std::set<std::string>& without) const {
        auto users = manifest.dependants(name);
        std::erase_if(users, [&](const auto& user) { return !loaded.contains(user) || without.contains(user); });
        return users;
    }

    void sort(Names& names) const {
        auto place = [this](const std::string& name) {
            return std::find(order_.begin(), order_.end(), name) - order_.begin();
        };
        std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    }

    /// All active modules, in order of loading.
    const Names& order() const noexcept { return order_; }

    Manifest manifest;
    std::set<std::string> loaded;

private:
    void change(const options::Parsed& parsed) {
        for (auto choice : parsed.all("set-alternative")) {
            auto equals = choice.find('=');
            if (equals == choice.npos) throw Error(EINVAL, "--set-alternative: NAME=MODULE expected");
            manifest.choose(std::string(choice.substr(0, equals)), std::string(choice.substr(equals + 1)));
        }
        for (const auto& name : parsed.list("disable")) manifest.disable(name);
    }

    static Task<std::uint32_t> number(Handle* handle, const char* attribute) {
        auto text = co_await handle->get_attr(attribute);
        co_return parse_integer<std::uint32_t>(text.value_or("")).value_or(0);
    }

    /// What a module comes after or requires has its place before it.
    void place(const std::string& name, std::set<std::string>& placed) {
        if (!placed.insert(name).second) return;
        for (const auto& other : manifest.predecessors(name)) place(other, placed);
        for (const auto& other : required_by(get(name))) place(other, placed);
        order_.push_back(name);
    }

    Names order_; ///< of active modules

    void add_requirements(const std::string& name, std::set<std::string>& all) const {
        if (!all.insert(name).second) return;
        for (const auto& needed : required_by(get(name))) add_requirements(needed, all);
    }
};

// Changes -------------------------------------------------------------------------------------------------------

/// Do something with each module in turn, or only tell of it.
class Steps {
public:
    Steps(Handle& handle, const options::Parsed& parsed)
        : handle_(handle), dry_run_(parsed.has("dry-run")), verbose_(parsed.has("verbose")) {}

    Task<> load(const Manifest::Entry* entry) {
        auto arguments = entry->args;
        arguments.insert(arguments.begin(), entry->name);
        tell("load " + join(arguments, " "));
        if (dry_run_) co_return;
        auto request =
            Json::object("path", entry->file(), "name", entry->name, "args", entry->args, "exec", entry->exec);
        co_await call("module.load", std::move(request), entry->name);
    }

    Task<> remove(std::string name) {
        tell("remove " + name);
        if (dry_run_) co_return;
        auto request = Json::object("name", name, "cancel", false);
        co_await call("module.remove", std::move(request), name);
    }

private:
    void tell(const std::string& step) const {
        if (dry_run_ || verbose_) fmt::print("{}\n", step);
    }

    Task<> call(const char* topic, Json request, std::string name) {
        try {
            co_await handle_.call(topic, std::move(request));
        } catch (const Error& error) {
            throw error.while_doing(name);
        }
    }

    Handle& handle_;
    bool dry_run_;
    bool verbose_;
};

Task<int> load(Handle* handle, const options::Parsed* parsed, bool everything) {
    Modules modules;
    co_await modules.fetch(handle, nullptr);
    auto names = everything ? modules.order() : modules.with_requirements(parsed->operands());
    std::erase_if(names, [&](const auto& name) { return modules.loaded.contains(name); });
    if (names.empty() && !everything) fmt::print(stderr, "flux-modprobe: INFO: No modules to load\n");
    Steps steps(*handle, *parsed);
    for (const auto& name : names) {
        const auto* entry = &modules.get(name);
        co_await steps.load(entry);
    }
    co_return 0;
}

/// Loaded modules that some removed ones have required and nobody else does.
void add_unneeded(const Modules& modules, std::set<std::string>& removed) {
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& name : std::set<std::string>(removed)) {
            const auto* entry = modules.manifest.find(name);
            if (!entry) continue;
            for (const auto& needed : modules.required_by(*entry))
                if (modules.loaded.contains(needed) && modules.users(needed, removed).empty())
                    changed = removed.insert(needed).second || changed;
        }
    }
}

Task<int> remove(Handle* handle, const options::Parsed* parsed, Names names) {
    Modules modules;
    co_await modules.fetch(handle, nullptr);
    std::set<std::string> removed;
    if (names == Names{"all"}) {
        removed = modules.loaded;
    } else {
        for (const auto& name : names) {
            if (!modules.loaded.contains(name)) throw Error(ENOENT, "module " + name + " is not loaded");
            removed.insert(name);
        }
        for (const auto& name : names)
            if (auto users = modules.users(name, removed); !users.empty())
                throw Error(EBUSY, fmt::format("{} still in use by {}", name, join(users, ", ")));
        add_unneeded(modules, removed);
    }
    // Modules that the manifest does not know may use any of those that it does: they come last, and go first.
    Names order(removed.begin(), removed.end());
    modules.sort(order);
    Steps steps(*handle, *parsed);
    for (auto name = order.rbegin(); name != order.rend(); ++name) co_await steps.remove(*name);
    co_return 0;
}

int run_load(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error("the following arguments are required: MODULE");
    return context.run(&load, &context.handle(), &parsed, false);
}

int run_remove(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error("the following arguments are required: MODULE");
    return context.run(&remove, &context.handle(), &parsed, parsed.operands());
}

int run_rc1(Context& context, const options::Parsed& parsed) {
    return context.run(&load, &context.handle(), &parsed, true);
}

int run_rc3(Context& context, const options::Parsed& parsed) {
    return context.run(&remove, &context.handle(), &parsed, Names{"all"});
}

// Looking -------------------------------------------------------------------------------------------------------

class Tree {
public:
    Tree(const Modules& modules, bool full) : modules_(modules), full_(full) {}

    void print(const std::string& name) {
        fmt::print("{}\n", name);
        print_below(name, "");
    }

private:
    void print_below(const std::string& name, const std::string& prefix) {
        auto below = modules_.required_by(modules_.get(name));
        if (!full_) std::erase_if(below, [&](const auto& needed) { return !shown_.insert(needed).second; });
        for (const auto& needed : below) {
            const bool last = &needed == &below.back();
            fmt::print("{}{}{}\n", prefix, last ? "└── " : "├── ", needed);
            print_below(needed, prefix + (last ? "    " : "│   "));
        }
    }

    const Modules& modules_;
    bool full_;
    std::set<std::string> shown_;
};

Task<int> list_dependencies(Handle* handle, const options::Parsed* parsed) {
    Modules modules;
    co_await modules.fetch(handle, parsed);
    Tree(modules, parsed->has("full")).print(modules.get(parsed->operands()[0]).name);
    co_return 0;
}

Task<int> show(Handle* handle, const options::Parsed* parsed) {
    Modules modules;
    co_await modules.fetch(handle, parsed);
    fmt::print("{}\n", modules.get(parsed->operands()[0]).to_json().dump());
    co_return 0;
}

int run_list_dependencies(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error("the following arguments are required: MODULE");
    return context.run(&list_dependencies, &context.handle(), &parsed);
}

int run_show(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error("the following arguments are required: MODULE");
    return context.run(&show, &context.handle(), &parsed);
}

using options::Value;
constexpr options::Option change_options[] = {
    {.name = "dry-run", .help = "Print what would be done and do nothing"},
    {.name = "dry", .hidden = true, .same_as = "dry-run"},
    {.name = "verbose", .key = 'v', .help = "Print what is done"},
};
constexpr options::Option look_options[] = {
    {.name = "set-alternative",
     .key = 'S',
     .value = Value::required,
     .argument = "NAME=MODULE",
     .help = "Choose the module that provides a service"},
    {.name = "disable", .key = 'D', .value = Value::required, .argument = "NAME", .help = "Leave out a module"},
};
constexpr options::Option full_option[] = {
    {.name = "full", .key = 'f', .help = "Repeat modules that several others require"},
};
constexpr auto tree_options = options::join(look_options, full_option);
static_assert(options::consistent(change_options) && options::consistent(tree_options));

constexpr options::Command subcommands[] = {
    {.name = "load",
     .synopsis = "[OPTIONS] MODULE...",
     .help = "Load modules with all that they require",
     .options = change_options,
     .run = &run_load},
    {.name = "remove",
     .synopsis = "[OPTIONS] MODULE...|all",
     .help = "Remove modules, and what only they required",
     .options = change_options,
     .run = &run_remove},
    {.name = "list-dependencies",
     .synopsis = "[OPTIONS] MODULE",
     .help = "Show what a module requires as a tree",
     .options = tree_options,
     .run = &run_list_dependencies},
    {.name = "show",
     .synopsis = "[OPTIONS] MODULE",
     .help = "Show the entry of a module",
     .options = look_options,
     .run = &run_show},
    {.name = "rc1", .help = "Load all modules of an instance", .options = change_options, .run = &run_rc1},
    {.name = "rc3", .help = "Remove all modules", .options = change_options, .run = &run_rc3},
};

} // namespace

extern const options::Command cmd_modprobe;
const options::Command cmd_modprobe{.name = "modprobe",
                                    .program = "flux-modprobe",
                                    .synopsis = "COMMAND [OPTIONS]",
                                    .help = "Load and remove modules with what they require",
                                    .subcommands = subcommands,
                                    .family = options::Family::listing};

} // namespace flux::cmd
