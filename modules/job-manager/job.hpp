// A job as its eventlog tells it (RFC 21). `fold` is the one thing that changes a job, live and at restart; it knows
// nothing of messages, and what it cannot read changes nothing.
#pragma once

#include <flux/eventlog.hpp>
#include <flux/idset.hpp>
#include <flux/job_id.hpp>
#include <flux/job_state.hpp>
#include <flux/json.hpp>
#include <flux/message.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::job_manager {

/// Whether shells of the job may exist, as far as this instance of the module knows; not durable, see Exec.
enum class Shells {
    none,    ///< never started
    maybe,   ///< an earlier start may have been carried out: the execution service has to be asked
    pending, ///< start request out
    gone,    ///< final release came
};

struct Job {
    explicit Job(JobId id) : id(id) {}

    JobId id;
    std::uint32_t userid = userid_unknown;
    int flags = 0;
    double t_submit = 0;
    int urgency = urgency_default;
    std::int64_t priority = priority_unset;
    JobState state = JobState::none;
    Json jobspec;                          ///< without environment, with updates; null when unknown
    Json R;                                ///< without `scheduling`, with updates; null before `alloc`
    Json annotations;                      ///< an object, or null
    std::string eventlog;                  ///< as in the KVS, plus what is on its way there
    double last_event = 0;                 ///< time of the last event
    std::vector<std::string> dependencies; ///< outstanding
    std::vector<std::string> satisfied;    ///< dependencies removed
    Json end_event;                        ///< the `finish` or fatal `exception` that came first, or null
    std::optional<int> finish_status;
    std::string exception_type; ///< of the first fatal exception; empty: none
    Idset released;             ///< ranks given back before the final release
    int updates = 0;            ///< number of changes of the jobspec
    int prologs = 0;
    int epilogs = 0;
    bool debug = false;
    bool immutable = false;
    bool alloc_bypass = false;
    bool allocated = false;     ///< `alloc` seen
    bool has_resources = false; ///< `alloc` and no `free`
    bool started = false;       ///< `start` seen
    bool final_release = false;

    // Of this instance of the module, not of the log:
    Shells shells = Shells::none;
    std::size_t durable = 0; ///< so much of the eventlog is in the KVS
    std::uint64_t gate = 0;  ///< ledger mark of the last event that matters for what is done with the job
    bool freed = false;      ///< `sched.free` was sent

    /// What is known here may be acted upon: it is durable.
    bool settled() const noexcept { return durable >= gate; }
    bool active() const noexcept { return job_state_in(state, job_states_active); }
    bool waitable() const noexcept { return flags & job_flag_waitable; }
    bool depends_on(std::string_view description) const noexcept;
    JobResult result() const noexcept;
};

/// Apply an event. \throws Error EPROTO when the event is malformed or impossible now; the job is then as before.
void fold(Job& job, const EventlogEntry& entry);

/// A job from what the KVS has of it. \throws Error EPROTO, EINVAL saying what is wrong.
/// \param R  text, empty when there is none.
Job replay(JobId id, std::string_view eventlog, std::string_view jobspec, std::string_view R);

/// Text and result of a finished job for `wait`: empty text when it was a success.
std::string failure_text(const Job& job);

/// Merge an update of annotations into `target` (an object or null): objects recurse, null removes. What is left empty
/// becomes null.
void merge_annotations(Json& target, JsonView update);

} // namespace flux::job_manager
