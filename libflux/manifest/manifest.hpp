// Which modules an instance runs and in what order (broker.md 6.6): the manifest, as files and configuration tell it.
#pragma once

#include <flux/json.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flux {

class Manifest {
public:
    class Entry {
    public:
        Entry() {}
        /// As `flux modprobe show` prints it.
        Json to_json() const;

        std::string name;
        std::string module; ///< file, when it differs from the name
        std::vector<std::string> args, provides, requires_, after, before;
        std::string ranks;
        std::vector<std::string> cleanup; ///< commands for the end of the instance, run in reverse order
        std::vector<std::string> needs, needs_config, needs_attrs, needs_env;
        int priority = 100;
        bool disabled = false;
        bool exec = false;

        const std::string& file() const noexcept { return module.empty() ? name : module; }
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

    /// Add entries: `[[modules]]`, `[alternatives]`, and tables that update one module.
    /// \throws Error EINVAL naming the source and the key
    void add(JsonView table, const std::string& source);
    /// Add the files of the installation and of the site, then the table `[modules]` of a broker's configuration.
    /// FLUX_MODPROBE_PATH and FLUX_MODPROBE_PATH_APPEND name other folders. \throws Error
    void add_installed(JsonView config);
    /// Decide what is active here. \throws Error EINVAL when a requirement cannot be met or the order has a circle
    void select(Facts facts);
    /// Choose among the modules that provide the same service, before select().
    void choose(const std::string& service, const std::string& module) { alternatives_[service] = module; }
    /// Leave out a module, before select(). \throws Error ENOENT
    void disable(const std::string& name);

    /// What is active, in order of loading.
    const std::vector<std::string>& order() const noexcept { return order_; }
    /// Any module, active or not; null when there is none of this name.
    const Entry* find(const std::string& name) const;
    /// What has to be loaded before an active module.
    const std::set<std::string>& predecessors(const std::string& name) const { return predecessors_.at(name); }
    /// The active module of this name, or that offers this service; empty when there is none.
    std::string provider(const std::string& service) const;
    /// Active modules that require `name`.
    std::vector<std::string> dependants(const std::string& name) const;
    /// Cleanup commands of what is active, in order of loading.
    std::vector<std::string> cleanup_commands() const;
    /// Names of attributes that conditions look at.
    std::set<std::string> attributes() const;

private:
    bool wanted(const Entry& entry) const;
    bool offers(const std::string& name, const std::string& service) const;
    void sort();

    Facts facts_;
    std::map<std::string, Entry> entries_;
    std::map<std::string, std::string> alternatives_;
    std::set<std::string> active_;
    std::map<std::string, std::set<std::string>> predecessors_;
    std::vector<std::string> order_;
};

} // namespace flux
