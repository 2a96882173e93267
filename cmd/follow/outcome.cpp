#include "cmd/follow/outcome.hpp"

#include <flux/job_state.hpp>

namespace flux::follow {

void Outcome::apply(const EventlogEntry& event) {
    if (event.name == "finish")
        status_ = event.context.get<int>("status");
    else if (event.name == "exception" && event.context.get<int>("severity") == 0 && !exception_)
        exception_ = event.context.get<std::string>("type");
}

int Outcome::exit_code() const noexcept {
    if (status_ && *status_ != 0) return job_exit_code(*status_);
    return exception_ || !status_ ? 1 : 0;
}

} // namespace flux::follow
