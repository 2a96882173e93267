// What jobs are counted and told apart by: states, results, submit flags, urgency and priority (RFC 21, RFC 30), and
// what a wait status means to people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

/// Values are bits, so that a mask names several states.
enum class JobState : int {
    none = 0, ///< not even submitted
    new_ = 1,
    depend = 2,
    priority = 4,
    sched = 8,
    run = 16,
    cleanup = 32,
    inactive = 64,
};
inline constexpr int job_states_pending = 14;
inline constexpr int job_states_running = 48;
inline constexpr int job_states_active = 62;
inline constexpr int job_states_all = 127;

/// Whether `state` is one of a mask.
constexpr bool job_state_in(JobState state, int mask) noexcept { return static_cast<int>(state) & mask; }
/// `DEPEND`; `(unknown)` for anything else than one state.
std::string_view job_state_name(JobState state) noexcept;
/// `D`; `?` for anything else than one state.
std::string_view job_state_letter(JobState state) noexcept;
/// Mask of a state or virtual state (`PENDING`, `RUNNING`, `ACTIVE`), long or short, in upper or lower case.
std::optional<int> parse_job_state(std::string_view text) noexcept;

enum class JobResult : int { completed = 1, failed = 2, canceled = 4, timeout = 8 };

/// `COMPLETED`; `(unknown)` for anything else than one result.
std::string_view job_result_name(JobResult result) noexcept;
/// `CD`; `?` for anything else than one result.
std::string_view job_result_letter(JobResult result) noexcept;
/// By long or short name, in upper or lower case.
std::optional<JobResult> parse_job_result(std::string_view text) noexcept;
/// The result of a job by its `finish` status and the type of its fatal exception, as far as there were any.
JobResult job_result(std::optional<int> finish_status, std::optional<std::string_view> exception_type) noexcept;

/// Bits of `flags` in a submit request and event.
enum JobFlag : int {
    job_flag_debug = 2,
    job_flag_waitable = 4,
    job_flag_novalidate = 8,
};
inline constexpr int job_flags_all = job_flag_debug | job_flag_waitable | job_flag_novalidate;

inline constexpr int urgency_hold = 0;
inline constexpr int urgency_default = 16;
inline constexpr int urgency_expedite = 31;
inline constexpr std::int64_t priority_unset = -1;
inline constexpr std::int64_t priority_min = 0;
inline constexpr std::int64_t priority_max = 4294967295;

/// Exit code of a job with this wait status: the exit code, or 128 + signal.
int job_exit_code(int wait_status) noexcept;
/// `task(s) exited with exit code 1`, `task(s) Terminated`, `job shell Killed`; empty for status 0.
std::string describe_job_failure(int wait_status);

} // namespace flux
