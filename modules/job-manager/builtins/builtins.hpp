// The plugins that are part of job-manager and always loaded, in the order in which they are called.
#pragma once

#include <flux/jobtap.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace flux::job_manager {

struct Builtin {
    std::string_view name;
    std::unique_ptr<JobtapPlugin> (*make)(JobtapHost&);
};

std::span<const Builtin> builtins() noexcept;

std::unique_ptr<JobtapPlugin> make_priority_default(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_limit_job_size(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_limit_duration(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_dependency_after(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_dependency_singleton(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_begin_time(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_validate_duration(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_update_duration(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_history(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_post_event(JobtapHost& host);
std::unique_ptr<JobtapPlugin> make_update_queue(JobtapHost& host);

/// Positions that a Python slice `[a:b:c]` picks out of `size`. 	hrows Error EINVAL
std::vector<std::size_t> slice_positions(std::string_view text, std::size_t size);

} // namespace flux::job_manager
