// job-list, on rank 0: which jobs there are, with attributes of each. It knows what job-manager's journal has told.
// Payload shapes: s string, i integer, f real, b boolean, o object, `?` optional. Requests wait until the journal's
// backlog is read. EPROTO: a payload, or a constraint in it, that cannot be read.
#pragma once

#include <flux/handle.hpp>

namespace flux::job_list_protocol {

/// `{max_entries:i, attrs:[s, ...], since?:f, constraint?:o}` (0: all) to `{jobs:[o, ...]}`; as a stream one job per
/// answer, the first with `version:1`. Pending jobs come first by priority, then running ones and inactive ones, newest
/// first; of these only those that ended after `since`. EINVAL: not an attribute, or too many comparisons.
inline constexpr Method list{"job-list.list", MethodClass::read, role_user};
/// `{id:i, attrs:[s, ...], state?:i}` to `{job:o}`, once the job has reached that state. ENOENT.
inline constexpr Method list_id{"job-list.list-id", MethodClass::read, role_user};
/// No payload, to `{attrs:[s, ...]}`.
inline constexpr Method list_attrs{"job-list.list-attrs", MethodClass::read, role_user};
/// No payload, to `{job_states:{depend, priority, sched, run, cleanup, inactive, total}, successful, failed, canceled,
/// timeout, inactive_purged, queues:[{name:s, ...}, ...]}`, all integers; as a stream again after changes.
inline constexpr Method job_stats{"job-list.job-stats", MethodClass::stream, role_user};
/// `{matchtag:i}`, no answer.
inline constexpr Method job_stats_cancel{"job-list.job-stats-cancel", MethodClass::read, role_user};
/// For tests, empty: do not look at the journal, or do again.
inline constexpr Method job_state_pause{"job-list.job-state-pause", MethodClass::read};
inline constexpr Method job_state_unpause{"job-list.job-state-unpause", MethodClass::read};
/// → `{jobs:{pending, running, inactive}, idsync:{lookups, waits}, stats_watchers}`
inline constexpr Method stats_get{"job-list.stats-get", MethodClass::read, role_user};
/// From the broker: a client has gone.
inline constexpr Method disconnect{"job-list.disconnect", MethodClass::read, role_user};

} // namespace flux::job_list_protocol
