// Loads what the manifest tells, and unloads it.
#pragma once

#include "broker/host/module_host.hpp"
#include "libflux/manifest/manifest.hpp"

#include <functional>
#include <string>
#include <vector>

namespace flux::broker {

class Modprobe {
public:
    Modprobe() {}
    Manifest manifest;

    /// Load everything active, each as soon as what it comes after is there. \throws the first failure
    Task<> load_all(ModuleHost& host, Scope& scope);
    /// Unload in reverse.
    Task<> remove_all(ModuleHost& host, const std::function<void(LogLevel, const std::string&)>& log);
    /// Loaded modules that need `name`.
    std::vector<std::string> dependants(const std::string& name, const ModuleHost& host) const;
};

} // namespace flux::broker
