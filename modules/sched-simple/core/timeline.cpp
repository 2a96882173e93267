#include "core/timeline.hpp"

namespace flux::sched {

Timeline::Timeline(const State& state, double now) : pool_(state.pool), now_(now) {
    std::vector<End> ends;
    ends.reserve(state.running.size());
    // A job that is over time may end at any moment.
    for (const auto& [id, job] : state.running)
        if (job.end > 0) ends.push_back({std::max(job.end, now), &job.allocation});
    ends_ = decltype(ends_)(std::greater<>(), std::move(ends));
}

std::optional<double> Timeline::next_start(const Request& request, const NodeSet* mask) {
    for (;;) {
        if (auto allocation = pool_.allocate(request, mask)) {
            simulated_.push_back(std::move(*allocation));
            if (request.duration > 0) ends_.push({now_ + request.duration, &simulated_.back()});
            return now_;
        }
        if (ends_.empty()) return std::nullopt;
        now_ = ends_.top().time;
        for (; !ends_.empty() && ends_.top().time <= now_; ends_.pop()) pool_.release(*ends_.top().allocation);
    }
}

} // namespace flux::sched
