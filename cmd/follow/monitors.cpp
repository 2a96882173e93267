#include "cmd/follow/monitors.hpp"

#include <algorithm>

namespace flux::follow {

void Monitors::add(JobId id, MonitorOptions options) {
    if (progress_) options.on_event = [this, id](const EventlogEntry& event) { progress_->on_event(id, event); };
    scope_.spawn("job", &Monitors::follow, this, id, std::move(options));
}

Task<> Monitors::follow(Monitors* self, JobId id, MonitorOptions options) {
    try {
        int code = co_await monitor(&self->handle_, &self->scope_, id, options);
        self->exit_code_ = std::max(self->exit_code_, code);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        self->report_(error);
        self->exit_code_ = std::max(self->exit_code_, 1);
    }
}

Task<int> Monitors::ended() {
    co_await scope_.drained();
    progress_.reset();
    co_return exit_code_;
}

} // namespace flux::follow
