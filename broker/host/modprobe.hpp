// Which modules an instance runs and in what order: the manifest (broker.md 6.6), read and run in process.
#pragma once

#include "broker/host/module_host.hpp"

#include <flux/idset.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flux::broker {

class Modprobe {
public:
    class Entry {
    public:
        Entry() {}
        std::string name;
        std::string module; ///< file, when it differs from the name
        std::vector<std::string> args, provides, requires_, after, before;
        std::string ranks;
        std::vector<std::string> cleanup; ///< commands for the end of the instance, run in reverse order
        std::vector<std::string> needs, needs_config, needs_attrs, needs_env;
        int priority = 100;
        bool disabled = false;
        bool exec = false;
    };
    /// What conditions of entries look at.
    class Facts {
    public:
        Facts() {}
        std::uint32_t rank = 0;
        std::uint32_t size = 1;
        std::function<bool(const std::string& key)> config_has;
        std::function<bool(const std::string& name)> attribute_set;
        std::map<std::string, std::string> alternatives; ///< service → the module chosen for it
    };

    /// Add entries of a manifest: `[[modules]]`, `[alternatives]`, and tables that update one module.
    /// \throws Error EINVAL naming the source and the key
    void add(JsonView manifest, const std::string& source);
    /// Decide what is active here. \throws Error EINVAL when a requirement cannot be met or the order has a circle
    void select(Facts facts);

    /// Load everything active, each as soon as what it comes after is there. \throws the first failure
    Task<> load_all(ModuleHost& host, Scope& scope);
    /// Unload in reverse.
    Task<> remove_all(ModuleHost& host, const std::function<void(LogLevel, const std::string&)>& log);
    /// Loaded modules that need `name`.
    std::vector<std::string> dependants(const std::string& name, const ModuleHost& host) const;
    /// Cleanup commands of what is active, in order of loading.
    std::vector<std::string> cleanup_commands() const;
    const std::vector<std::string>& order() const noexcept { return order_; }

private:
    bool wanted(const Entry& entry) const;
    std::string provider(const std::string& service) const;
    void sort();

    Facts facts_;
    std::map<std::string, Entry> entries_;
    std::map<std::string, std::string> alternatives_;
    std::set<std::string> active_;
    std::map<std::string, std::set<std::string>> predecessors_;
    std::vector<std::string> order_;
};

} // namespace flux::broker
