// The jobtap plugins that are loaded, in the order in which they are called.
#pragma once

#include "job.hpp"

#include <flux/jobtap.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::job_manager {

/// What plugins see of a job.
JobtapJob view_of(const Job& job) noexcept;

class Plugins {
public:
    /// A plugin, with what it was given.
    class Loaded {
    public:
        Loaded(std::string name, std::string path) : name(std::move(name)), path(std::move(path)) {}
        virtual ~Loaded();
        /// Abort the plugin's tasks and wait for them, before it goes.
        virtual Task<> close() = 0;
        std::string name; ///< builtin ones begin with `.`
        std::string path;
        std::unique_ptr<JobtapPlugin> plugin;
    };

    void add(std::unique_ptr<Loaded> loaded) { all_.push_back(std::move(loaded)); }
    std::vector<std::string> names() const;
    /// \throws Error ENOENT
    Loaded& get(std::string_view name) const;
    /// Close and destroy all, the last loaded first.
    Task<> clear();

    /// Call `visit(plugin)` for each.
    template <class F> void each(F&& visit) const {
        for (auto& loaded : all_) visit(*loaded->plugin);
    }
    /// Ask all in turn; true when one says that it took the matter.
    template <class F> bool any(F&& visit) const {
        bool taken = false;
        for (auto& loaded : all_) taken |= visit(*loaded->plugin);
        return taken;
    }

    /// The job passes every check of a submission. \throws Error to reject it
    void create(const JobtapJob& job) const;
    void validate(const JobtapJob& job) const;
    /// Give each dependency of the jobspec to whom it concerns. \throws Error EINVAL for one that nobody knows
    void dependencies(const JobtapJob& job) const;
    /// The callback that belongs to the job's state.
    void entered(const JobtapJob& job) const;
    /// Nothing while a plugin has yet to find out.
    std::optional<std::int64_t> priority(const JobtapJob& job) const;

private:
    std::vector<std::unique_ptr<Loaded>> all_;
};

} // namespace flux::job_manager
