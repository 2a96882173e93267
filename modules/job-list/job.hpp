// What is told of a job: a fold over its events (RFC 21), its jobspec and its R. Small, there are many.
#pragma once

#include "text_pool.hpp"

#include <flux/eventlog.hpp>
#include <flux/job_id.hpp>
#include <flux/job_state.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::job_list {

struct Job {
    /// When a job reached a state, as an index into `times`.
    enum Time { submit, depend, priority_, sched, run, cleanup, inactive, time_count };

    Job(JobId id, TextPool& pool) noexcept : id(id), pool(&pool) {}

    /// Events of one answer of the journal, with the documents beside them. \throws Error when an event is malformed
    void apply(const EventlogEntry& event);
    void set_jobspec(JsonView jobspec);
    void set_R(JsonView R);

    bool in(int states) const noexcept { return job_state_in(state, states); }
    bool success() const noexcept { return result == JobResult::completed; }

    JobId id;
    TextPool* pool;
    std::array<double, time_count> times{}; ///< 0: not reached
    std::int64_t priority = priority_unset;
    double duration = 0;
    double expiration = 0;
    Text name, cwd, queue, project, bank;
    Text ranks, nodelist; ///< once allocated
    Text annotations;     ///< JSON text of an object
    Text exception_type, exception_note;
    std::unique_ptr<std::vector<std::string>> dependencies; ///< null: there were none ever
    std::uint32_t userid = 0;
    int waitstatus = 0;
    std::int32_t ntasks = 0, nnodes = 0, ncores = 0;     ///< 0: not known
    std::int32_t tasks_per_node = 0, tasks_per_core = 0; ///< 0: the number of tasks does not depend on R
    JobState state = JobState::none;
    JobResult result = JobResult::failed; ///< of an inactive job
    std::uint8_t states_seen = 0;
    std::uint8_t urgency = urgency_default;
    std::int8_t exception_severity = -1; ///< -1: none happened
    bool finished = false;               ///< has a waitstatus
    bool removed = false;                ///< was refused after all

private:
    void enter(JobState next, Time time, double timestamp);
    void on_exception(const EventlogEntry& event);
    void on_update(JsonView updates);
    void annotate(JsonView annotations);
};

/// Merge `update` into an object: objects merge, null removes, an object that has become empty goes.
void merge_annotations(const JsonRef& target, JsonView update);

} // namespace flux::job_list
