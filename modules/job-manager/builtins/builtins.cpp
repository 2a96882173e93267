#include "builtins.hpp"

namespace flux::job_manager {

std::span<const Builtin> builtins() noexcept {
    static constexpr Builtin table[] = {
        {".priority-default", make_priority_default},
        {".limit-job-size", make_limit_job_size},
        {".limit-duration", make_limit_duration},
        {".dependency-after", make_dependency_after},
        {".dependency-singleton", make_dependency_singleton},
        {".begin-time", make_begin_time},
        {".validate-duration", make_validate_duration},
        {".update-duration", make_update_duration},
        {".history", make_history},
        {".post-event", make_post_event},
        {".update-queue", make_update_queue},
    };
    return table;
}

} // namespace flux::job_manager
