// Loads what the manifest tells, and unloads it.
#pragma once

#include "broker/host/module_host.hpp"
#include "libflux/manifest/manifest.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flux::broker {

class Modprobe {
public:
    Modprobe() {}
    Manifest manifest;

    /// What a module gets besides, on this start.
    class Extras {
    public:
        Extras() {}
        std::vector<std::string> args;
        std::function<Task<>()> when_loaded;    ///< before what comes after it is loaded
        std::function<Task<>()> before_removal; ///< when all that comes after it is gone
    };
    std::map<std::string, Extras> extras; ///< by name of the module

    /// Load everything active, each as soon as what it comes after is there. \throws the first failure
    Task<> load_all(ModuleHost& host, Scope& scope);
    /// Unload in reverse.
    Task<> remove_all(ModuleHost& host, const std::function<void(LogLevel, const std::string&)>& log);
    /// Loaded modules that need `name`.
    std::vector<std::string> dependants(const std::string& name, const ModuleHost& host) const;
};

} // namespace flux::broker
