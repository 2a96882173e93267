// How a job that must end is ended (jobs.md 9.8): when the next signal is due, and which.
#pragma once

#include <chrono>
#include <optional>

namespace flux::job_exec {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

class KillTiming {
public:
    KillTiming() {}
    Duration kill_timeout = std::chrono::seconds(5);
    unsigned max_kill_count = 8;
    std::optional<Duration> max_kill_timeout; ///< when set, the count does not matter

    /// From the first signal to the point where the job is given up.
    Duration total() const noexcept;
};

/// Begins with a signal to the shells, which whoever makes the plan sends himself.
class KillPlan {
public:
    enum class Step {
        kill_tasks,  ///< the shells kill their tasks
        kill_shells, ///< the shells themselves
        give_up,     ///< nothing helps; again and again until somebody listens
    };
    KillPlan(const KillTiming& timing, Time begin);

    /// When the next step is due.
    Time next() const noexcept;
    /// Take that step.
    Step take() noexcept;
    unsigned shell_kills() const noexcept { return shell_kills_; }

private:
    KillTiming timing_;
    Time tasks_;
    Time shells_;
    Time give_up_;
    Duration interval_; // to the next kill of the shells
    unsigned shell_kills_ = 0;
};

} // namespace flux::job_exec
