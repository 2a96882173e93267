#include "kill_plan.hpp"

#include <algorithm>

namespace flux::job_exec {
namespace {

// So many kill timeouts pass before the shells themselves are killed.
constexpr int patience = 5;
constexpr Duration longest_interval = std::chrono::seconds(300);

} // namespace

Duration KillTiming::total() const noexcept {
    if (max_kill_timeout) return *max_kill_timeout;
    auto sum = patience * kill_timeout;
    auto interval = kill_timeout;
    for (unsigned i = 1; i < max_kill_count; ++i) {
        sum += interval;
        interval = std::min(2 * interval, std::max(longest_interval, kill_timeout));
    }
    return sum;
}

KillPlan::KillPlan(const KillTiming& timing, Time begin)
    : timing_(timing),
      tasks_(begin + timing.kill_timeout),
      shells_(begin + patience * timing.kill_timeout),
      give_up_(timing.max_kill_timeout ? begin + *timing.max_kill_timeout : Time::max()),
      interval_(timing.kill_timeout) {}

Time KillPlan::next() const noexcept { return std::min({tasks_, shells_, give_up_}); }

KillPlan::Step KillPlan::take() noexcept {
    auto now = next();
    if (give_up_ == now) {
        give_up_ = now + timing_.kill_timeout;
        return Step::give_up;
    }
    if (tasks_ == now) {
        tasks_ = now + timing_.kill_timeout;
        return Step::kill_tasks;
    }
    shells_ = now + interval_;
    interval_ = std::min(2 * interval_, std::max(longest_interval, timing_.kill_timeout));
    if (++shell_kills_ == timing_.max_kill_count && !timing_.max_kill_timeout) give_up_ = now;
    return Step::kill_shells;
}

} // namespace flux::job_exec
