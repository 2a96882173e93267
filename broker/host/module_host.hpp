// Loads, reloads, removes and watches modules. Runs on the broker's loop.
#pragma once

#include "broker/host/module_slot.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flux::broker {

class ModuleHost {
public:
    /// What the host needs of the broker.
    class Environment {
    public:
        Environment() {}
        std::string copies;              ///< directory for private copies of module files
        std::string exec_program;        ///< flux-module-exec
        std::vector<std::string> search; ///< directories in which bare names are looked up
        std::chrono::nanoseconds start_limit = std::chrono::seconds(30); ///< a module must be RUNNING by then
        std::chrono::nanoseconds stop_limit = std::chrono::seconds(30);  ///< and gone this long after shutdown
        std::function<Json()> attributes;                                ///< immutable attributes, for `welcome`
        std::function<Json()> config;
        std::function<void(LogLevel, const std::string&)> log;
        std::function<void(const std::string& name, const std::string& why)> panic;  ///< a module failed while running
        std::function<std::vector<std::string>(const std::string& name)> dependants; ///< loaded modules that need it
    };

    ModuleHost(Loop& loop, Router& router, Scope& scope, Environment environment);
    ~ModuleHost();

    /// Load a module by bare name or path; ends when it is RUNNING. `spec.name` empty: from the path.
    /// \throws Error EEXIST, ENOENT, EINVAL, or whatever the module's start failed with
    Task<> load(ModuleSpec spec);
    /// Replace the code of a running module; ends when the new code is RUNNING. Unset parts stay as they are.
    Task<> reload(std::string name, std::optional<std::string> path, std::optional<std::vector<std::string>> args);
    /// \param kill  end a process at once.  \param check  refuse when loaded modules need it (EBUSY, naming them)
    Task<> remove(std::string name, bool kill, bool check);

    /// `module.status` of a running module.
    void on_status(const Request& request);
    Json list() const;
    bool loaded(std::string_view name) const { return slots_.contains(name); }
    std::vector<std::string> names() const;
    /// Hold back a module's messages, or let them through again (`module.debug`).
    void defer(const std::string& name, bool on);
    /// The slot whose running copy has this route id.
    ModuleSlot* slot_of(std::string_view uuid) const;
    /// service.add and service.remove by a running module.
    void add_service(ModuleSlot& slot, const std::string& service);
    void remove_service(ModuleSlot& slot, const std::string& service);

private:
    class Busy;
    std::string find_file(const std::string& path) const;
    Task<ModuleSlot*> claim(std::string name);
    Task<> start(ModuleSlot& slot, std::unique_ptr<Library> library, Json resume);
    Task<> stop(ModuleSlot& slot, bool handover, bool kill);
    Task<> shut_down(ModuleSlot& slot);
    Task<std::unique_ptr<Library>> open(const ModuleSpec& spec);
    void discard(ModuleSlot& slot);
    void bury(ModuleSlot& slot);
    void died(std::string name);
    Task<> restart(std::string name);

    Loop& loop_;
    Router& router_;
    Scope& scope_;
    Environment environment_;
    std::map<std::string, std::unique_ptr<ModuleSlot>, std::less<>> slots_;
    std::vector<std::unique_ptr<ModuleInstance>> hung_; ///< copies whose thread would not end
};

/// A fresh random route id: 36 characters, lower case, with dashes.
std::string make_uuid();

} // namespace flux::broker
