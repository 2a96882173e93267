// Writing a broker module: derive from Module, end the file with FLUX_MODULE(Class, "name").
// Life cycle: broker.md 4.1; reload and hand-over: doc/ARCHITECTURE.md.
#pragma once

#include <flux/abi_tag.hpp>
#include <flux/handle.hpp>

#include <memory>
#include <string>
#include <vector>

namespace flux {

class ModuleRuntime;

/// What a module is given when it is made; owned by the runtime.
class ModuleContext {
public:
    Handle& handle() noexcept;
    Scope& scope() noexcept;

private:
    friend class Module;
    friend class ModuleRuntime;
    ModuleRuntime& runtime() noexcept;
    explicit ModuleContext(ModuleRuntime& runtime) noexcept : runtime_(runtime) {}
    ModuleRuntime& runtime_;
};

/// A module: one thread (or process), one loop, one handle. Everything here is called on that thread.
class Module {
public:
    explicit Module(ModuleContext& context) : context_(context) {}
    virtual ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// Register methods, subscribe, read durable state. The module is RUNNING, and gets requests, when it returns. An
    /// exception refuses the load (or rolls a reload back) with its text.
    virtual Task<> start() = 0;
    /// Called after the module's tasks were aborted and have left; may not wait long. See reloading().
    virtual Task<> stop() { co_return; }

    /// Answer of `NAME.stats-get`; by default message counts.
    virtual Json stats();
    /// A new configuration. Throw an Error to veto it; config() returns the new one after this returned.
    virtual void config_changed(JsonView config) { (void)config; }
    /// Bits of `NAME.debug` have changed.
    virtual void debug_changed(std::uint64_t bits) { (void)bits; }

    /// Reload: what the new instance needs to go on with an open streaming request (or wait) without gap or duplicate.
    /// Nothing: a request of class `read` or `keyed` is given to the new instance from the start, a stream ends with
    /// ECONNRESET.
    virtual std::optional<Json> park(const Request& request) { return (void)request, std::nullopt; }
    /// Reload, in the new instance after start(): go on with a stream from the cursor that park() made. Throw when the
    /// cursor cannot be read: the stream ends with that error.
    virtual void resume(Request request, JsonView cursor) { (void)request, (void)cursor; }
    /// Called after start() and the last resume(): what was not resumed by now is gone.
    virtual void resumed() {}

protected:
    Handle& handle() const noexcept { return context_.handle(); }
    Loop& loop() const noexcept { return handle().loop(); }
    Scope& scope() const noexcept { return context_.scope(); }
    const std::string& name() const;
    const std::vector<std::string>& args() const;
    /// The value of argument `key=value` or of the bare flag `key` (empty); nothing when not given.
    std::optional<std::string> arg(std::string_view key) const;
    JsonView config() const;
    /// An attribute that was set and immutable when the module was loaded. \throws Error ENOENT
    std::string attr(std::string_view name) const;
    std::uint32_t rank() const;
    std::uint32_t size() const;
    /// Route id of this module.
    const std::string& uuid() const;
    /// In stop(): a new instance takes over.
    bool reloading() const noexcept;

    /// Serve a method with a member function. Method topics are full ones (`kvs.commit`).
    template <class M> void serve(const Method& method, void (M::*function)(Request)) {
        auto* self = static_cast<M*>(this);
        handle().serve(method, [self, function](Request request) { (self->*function)(std::move(request)); });
    }
    template <class M> void serve(const Method& method, Task<> (M::*function)(Request)) {
        auto* self = static_cast<M*>(this);
        handle().serve(method, scope(),
                       [self, function](Request request) { return (self->*function)(std::move(request)); });
    }
    /// Who may ask for stats(): anybody, unless this narrows it to the roles of `method`, the module's `stats-get`.
    void serve_stats(const Method& method) {
        handle().serve(method, [this](const Request& request) { request.respond(stats()); });
    }
    /// Offer a service besides the module's own name. \throws Error EEXIST when it is taken.
    Task<> add_service(std::string service);

    /// Start a task of this module: `spawn("pulse", &Heartbeat::pulse, this)` with a function returning Task<>.
    template <class Function, class... Arguments>
    void spawn(const char* what, Function function, Arguments... arguments) {
        scope().spawn(what, std::move(function), std::move(arguments)...);
    }
    /// The same with a member coroutine.
    template <class M, class... Arguments>
    void spawn(const char* what, Task<> (M::*function)(Arguments...), M* self, std::decay_t<Arguments>... arguments) {
        scope().spawn(what, &Module::run_member<M, Arguments...>, self, function, std::move(arguments)...);
    }

    Call call(std::string_view topic, const CallOptions& options = {}) { return handle().call(topic, options); }
    Call call(std::string_view topic, Json payload, const CallOptions& options = {}) {
        return handle().call(topic, std::move(payload), options);
    }
    void log(LogLevel level, std::string_view text) const { handle().log(level, text); }

private:
    template <class M, class... Arguments>
    static Task<> run_member(M* self, Task<> (M::*function)(Arguments...), std::decay_t<Arguments>... arguments) {
        co_await (self->*function)(std::move(arguments)...);
    }
    ModuleContext& context_;
};

/// What a module's `.so` exports: data, read before any of its code runs. Fields are only ever appended.
struct ModuleTable {
    std::uint32_t size;
    std::uint16_t minor;
    const char* abi_tag;
    const char* name;
    Module* (*create)(ModuleContext&);
    void (*destroy)(Module*) noexcept;
};
inline constexpr std::uint16_t module_abi_minor = 0;
inline constexpr const char* module_table_symbol = "flux_module_table";
/// Name of the ELF section that says which SDK a plugin was built with.
inline constexpr const char* abi_section = ".flux.abi." FLUX_ABI_TAG;

#define FLUX_EXPORT __attribute__((visibility("default")))
/// Marks a `.so` with the ABI of the SDK it was built with; part of FLUX_MODULE and its likes.
#define FLUX_ABI_MARK                                                                                                  \
    extern "C" {                                                                                                       \
    __attribute__((section(".flux.abi." FLUX_ABI_TAG), used, retain)) static const char flux_abi_mark[] =              \
        FLUX_ABI_TAG;                                                                                                  \
    }

/// Export `Class`, a Module constructible from ModuleContext&, as module `module_name`.
#define FLUX_MODULE(Class, module_name)                                                                                \
    FLUX_ABI_MARK                                                                                                      \
    extern "C" FLUX_EXPORT const ::flux::ModuleTable flux_module_table;                                                \
    const ::flux::ModuleTable flux_module_table = {                                                                    \
        sizeof(::flux::ModuleTable),                                                                                   \
        ::flux::module_abi_minor,                                                                                      \
        FLUX_ABI_TAG,                                                                                                  \
        module_name,                                                                                                   \
        [](::flux::ModuleContext& context) -> ::flux::Module* { return new Class(context); },                          \
        [](::flux::Module* module) noexcept { delete module; }};

/// How a module's run ended.
struct ModuleExit {
    int errnum = 0;
    std::string text;         ///< why, when errnum is not 0
    std::string open_handles; ///< not empty: the loop could not be closed, the code must stay loaded
};

/// Run a module until it has exited: for hosts (the broker's module thread, flux-module-exec). `connect` makes the
/// transport on the loop that the module gets; the first message to arrive must be `welcome`.
ModuleExit run_module(const ModuleTable& table, const std::function<std::unique_ptr<Transport>(Loop&)>& connect);

} // namespace flux
