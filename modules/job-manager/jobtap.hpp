// Loading and removing of plugins: builtin ones, those of the configuration, and by request (jobs.md 6.1).
#pragma once

#include "core.hpp"
#include "inactive.hpp"
#include "plugin_host.hpp"

#include <flux/handle.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace flux::job_manager {

class Jobtap {
public:
    Jobtap(Core& core, Inactive& inactive, HostedPlugin::Config config)
        : core_(core), inactive_(inactive), config_(std::move(config)) {}

    /// Load the builtin plugins, those of the configuration, and what the record of an earlier instance adds to them.
    /// \throws Error when one of the configuration cannot be loaded
    Task<> start(JsonView record);
    /// `job-manager.jobtap` and `job-manager.jobtap-query`
    Task<> change(Request request);
    void query(Request request);

private:
    class Busy;
    Task<> load_configured();
    Task<> load_recorded();
    /// `file` is a path, the name of a builtin, or of a file in the plugin folder. \return its path or builtin name
    Task<std::string> load(std::string file, Json arguments);
    void bring_up(HostedPlugin& hosted);
    void make_watched(HostedPlugin& hosted);
    Task<> introduce(Plugins::Loaded* loaded);
    /// Plugins that a name, a glob or `all` stands for. \throws Error ENOENT
    std::vector<std::string> matching(const std::string& pattern) const;
    Task<> remove(std::string name);

    Core& core_;
    Inactive& inactive_;
    HostedPlugin::Config config_;
    std::string copies_; // folder for the files that are loaded
    std::string uri_;    // of the broker
    double limit_ = 30;  // seconds that an initializer may take
    bool busy_ = false;
    Condition idle_;
};

} // namespace flux::job_manager
