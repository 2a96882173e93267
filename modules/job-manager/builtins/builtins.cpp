#include "builtins.hpp"

namespace flux::job_manager {

std::span<const Builtin> builtins() noexcept {
    static constexpr Builtin table[] = {
        {".priority-default", make_priority_default},
    };
    return table;
}

} // namespace flux::job_manager
