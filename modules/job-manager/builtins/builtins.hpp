// The plugins that are part of job-manager and always loaded, in the order in which they are called.
#pragma once

#include <flux/jobtap.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace flux::job_manager {

struct Builtin {
    std::string_view name;
    std::unique_ptr<JobtapPlugin> (*make)(JobtapHost&);
};

std::span<const Builtin> builtins() noexcept;

std::unique_ptr<JobtapPlugin> make_priority_default(JobtapHost& host);

} // namespace flux::job_manager
