// The jobtap plugins that are loaded, in the order in which they are called.
#pragma once

#include "job.hpp"

#include <flux/jobtap.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::job_manager {

/// What plugins see of a job.
JobtapJob view_of(const Job& job) noexcept;

/// How a plugin is destroyed: by the code that made it.
struct DestroyPlugin {
    DestroyPlugin() = default;
    DestroyPlugin(void (*destroy)(JobtapPlugin*) noexcept) noexcept : destroy(destroy) {}
    void operator()(JobtapPlugin* plugin) const noexcept { destroy(plugin); }
    void (*destroy)(JobtapPlugin*) noexcept = [](JobtapPlugin* plugin) noexcept { delete plugin; };
};

class Plugins {
public:
    /// A plugin, with what it was given.
    class Loaded {
    public:
        Loaded(std::string name, std::string path) : name(std::move(name)), path(std::move(path)) {}
        virtual ~Loaded();
        /// Abort the plugin's tasks and wait for them, before it goes.
        virtual Task<> close() = 0;
        /// Have it do something. \throws Error whatever it throws
        template <class F> void call(F&& action) const {
            guarded([&] { action(*plugin); });
        }
        /// The text of an error of this plugin, with its name.
        std::string explain(const Error& error) const;
        std::string name; ///< builtin ones begin with `.`
        std::string path;
        std::unique_ptr<JobtapPlugin, DestroyPlugin> plugin;

    protected:
        template <class F> auto guarded(F&& action) const {
            try {
                return action();
            } catch (...) {
                rethrow();
            }
        }

    private:
        [[noreturn]] void rethrow() const;
    };

    /// Take a plugin that is not ready to be called.
    Loaded& prepare(std::unique_ptr<Loaded> loaded);
    /// From now on it is called, after the others.
    void admit(Loaded& loaded);
    /// Call it no more, close and destroy it.
    Task<> drop(Loaded& loaded);
    /// Drop all, the last loaded first.
    Task<> clear();

    std::vector<std::string> names() const;
    /// \throws Error ENOENT
    Loaded& get(std::string_view name) const;
    bool contains(std::string_view name) const noexcept { return find(name); }

    /// Call `visit(plugin)` for each until one throws. \throws Error
    template <class F> void each(F&& visit) const {
        for (auto& loaded : all_) loaded->call(visit);
    }
    /// The same for what has to reach all of them: `failed(text)` is called for each that throws.
    template <class F, class G> void tell(F&& visit, G&& failed) const {
        for (auto& loaded : all_) {
            try {
                loaded->call(visit);
            } catch (const Error& error) {
                failed(loaded->explain(error));
            }
        }
    }
    /// Ask all in turn; true when one says that it took the matter.
    template <class F> bool any(F&& visit) const {
        bool taken = false;
        for (auto& loaded : all_) loaded->call([&](JobtapPlugin& plugin) { taken |= visit(plugin); });
        return taken;
    }

    /// The job passes every check of a submission. \throws Error to reject it
    void create(const JobtapJob& job) const;
    void validate(const JobtapJob& job) const;
    /// Give each dependency of the jobspec to whom it concerns. \throws Error EINVAL for one that nobody knows
    void dependencies(const JobtapJob& job) const;
    /// Nothing while a plugin has yet to find out.
    std::optional<std::int64_t> priority(const JobtapJob& job) const;
    /// R from the last plugin that has one for the job.
    std::optional<Json> resources(const JobtapJob& job) const;

private:
    using List = std::list<std::unique_ptr<Loaded>>;
    static List::iterator position(List& list, const Loaded& loaded) noexcept;
    Loaded* find(std::string_view name) const noexcept;

    List all_;
    List aside_; // being loaded or unloaded
};

/// Call what belongs to the state that a job has entered.
void call_entered(JobtapPlugin& plugin, const JobtapJob& job);

} // namespace flux::job_manager
