// job-manager, on rank 0 (RFC 21, RFC 27, RFC 32): jobs from their acceptance to their end.
// Payload shapes: s string, i integer, f real, b boolean, o object, a array, `?` optional; "empty" is an answer without
// payload. Common errors: EPROTO for a payload that cannot be read; for methods about one job ENOENT or EINVAL
// `unknown job id`, `job is inactive`, and EPERM `guests ...` for somebody else's job.
//
// No answer, journal entry, request or event leaves before the events that it tells of are durable.
#pragma once

#include <flux/handle.hpp>

#include <string>
#include <string_view>

namespace flux::job_manager_protocol {

// From job-ingest --------------------------------------------------------------------------------------------------

/// `{jobs:[{id:i, userid:i, urgency:i, t_submit:f, flags:i, jobspec:o, J?:s}, ...]}` to `{}` or `{errors:[[id:i,
/// text:s], ...]}`, those not taken. `jobspec` is without environment. With `J` both are stored together with the
/// acceptance, without it the sender has stored them. A job taken before, with the same userid and t_submit, is taken
/// again without effect.
inline constexpr Method submit{"job-manager.submit", MethodClass::keyed};
/// No payload, to `{max_jobid:i, epoch?:f}`: the highest id ever taken (0: none) and the time, in seconds since 1970,
/// at which its timestamp would be 0.
inline constexpr Method getinfo{"job-manager.getinfo", MethodClass::read, role_user};

// Jobs ---------------------------------------------------------------------------------------------------------------

/// `{max_entries:i}` (0: all) to `{jobs:[{id:i, userid:i, urgency:i, priority:i, t_submit:f, state:i, annotations?:o,
/// dependencies?:[s]}, ...]}`: active jobs, those that wait for resources first and in their order, and waitable ones
/// whose result nobody has fetched.
inline constexpr Method list{"job-manager.list", MethodClass::read};
/// `{id:i, attrs:[s, ...]}` (`jobspec`, `R`, `eventlog`) to an object with these keys. ENOENT: not there (yet).
inline constexpr Method getattr{"job-manager.getattr", MethodClass::read, role_user};
/// `{id:i, severity:i, type:s, note?:s, wait_status?:i}`, empty.
inline constexpr Method raise{"job-manager.raise", MethodClass::once, role_user};
/// `{dry_run:b, userid:i, states:i, severity:i, type:s, note?:s}` to `{count:i, errors:i}`; userid -1: all users.
inline constexpr Method raiseall{"job-manager.raiseall", MethodClass::once, role_user};
/// `{id:i, signum:i}`, empty: a signal to the tasks of a running job.
inline constexpr Method kill{"job-manager.kill", MethodClass::once, role_user};
/// `{dry_run:b, userid:i, signum:i}` to `{count:i, errors:i}`.
inline constexpr Method killall{"job-manager.killall", MethodClass::once, role_user};
/// `{id:i, urgency:i}` to `{old_urgency:i}`.
inline constexpr Method urgency{"job-manager.urgency", MethodClass::once, role_user};
/// `{id:i, memo:o, volatile?:b}`, empty.
inline constexpr Method memo{"job-manager.memo", MethodClass::once, role_user};
/// `{id:i, updates:o}` (dotted path to new value), empty.
inline constexpr Method update{"job-manager.update", MethodClass::once, role_user};
/// `{id:i}` (-1: whichever ends next) to `{id:i, success:b, errstr:s}`, once for each job submitted as waitable.
/// ECHILD: nothing to wait for.
inline constexpr Method wait{"job-manager.wait", MethodClass::stream};

// All jobs -----------------------------------------------------------------------------------------------------------

/// Stream. `{allow?:{NAME:1, ...}, deny?:{NAME:1, ...}, full?:b}` to `{id:i, events:[o, ...], jobspec?:o, R?:o}`: one
/// for each job there is (with `full` also for inactive ones), then `{id:-1, events:[]}`, then one for each event.
inline constexpr Method events_journal{"job-manager.events-journal", MethodClass::stream};
/// `{matchtag:i}`, no answer.
inline constexpr Method events_journal_cancel{"job-manager.events-journal-cancel", MethodClass::read};
/// Empty, when no active job is left.
inline constexpr Method drain{"job-manager.drain", MethodClass::read};
/// `{pending:i}`, when no job runs and no resources are being asked for.
inline constexpr Method idle{"job-manager.idle", MethodClass::read};
/// `{age_limit:f, num_limit:i, batch:i, force:b}` (-1: no limit) to `{count:i}`: inactive jobs removed, or, without
/// force, that would be.
inline constexpr Method purge{"job-manager.purge", MethodClass::read};
/// `{id:i, force:b}` to `{count:i}`.
inline constexpr Method purge_id{"job-manager.purge-id", MethodClass::read};
/// `{journal:{listeners:i, events:i}, active_jobs:i, inactive_jobs:i, max_jobid:i, housekeeping:{running:o, config:o}}`
inline constexpr Method stats_get{"job-manager.stats-get", MethodClass::read, role_user};
/// `{slice:s}` (`[a:b:c]`) to `{jobs:[i, ...]}`: the requester's jobs, newest first.
inline constexpr Method history_get{"job-manager.history.get", MethodClass::read, role_user};
/// `{id:i, name:s, context?:o}`, empty.
inline constexpr Method post_event{"job-manager.post-event.post", MethodClass::once};

// Queues -------------------------------------------------------------------------------------------------------------

/// No payload, to `{queues:[s, ...]}`, empty when there is only the anonymous queue.
inline constexpr Method queue_list{"job-manager.queue-list", MethodClass::read, role_user};
/// `{name?:s}` to `{enable:b, start:b, parent?:s, blocked?:s, disable_reason?:s, stop_reason?:s}`.
inline constexpr Method queue_status{"job-manager.queue-status", MethodClass::read, role_user};
/// `{name?:s, enable:b, reason?:s, all:b}`, empty: may jobs be submitted.
inline constexpr Method queue_enable{"job-manager.queue-enable", MethodClass::once};
/// `{name?:s, start:b, reason?:s, all:b, nocheckpoint?:b}`, empty: are jobs given resources.
inline constexpr Method queue_start{"job-manager.queue-start", MethodClass::once};

// Schedulers (RFC 27) ------------------------------------------------------------------------------------------------

/// No payload, to `{queue_length:i, alloc_pending:i, running:i}`.
inline constexpr Method alloc_query{"job-manager.alloc-query", MethodClass::read, role_user};
/// Stream. `{partial-ok?:b}` to `{id:i, priority:i, userid:i, t_submit:f, free?:idset}` for each job with resources.
inline constexpr Method sched_hello{"job-manager.sched-hello", MethodClass::stream};
/// `{mode:"limited"|"unlimited", limit?:i}` to `{count:i}`, the jobs that wait.
inline constexpr Method sched_ready{"job-manager.sched-ready", MethodClass::read};
/// No payload, to `{allocated:R}`: what jobs hold.
inline constexpr Method resource_status{"job-manager.resource-status", MethodClass::read};

// Sent to the scheduler without matchtag; all but `alloc` without answer.
/// `{id:i, priority:i, userid:i, t_submit:f, jobspec:o}`, answered any number of times by `{id:i, type:i, note?:s,
/// annotations?:o, R?:o}`. An error closes the interface until the next sched-ready.
inline constexpr std::string_view sched_alloc = "sched.alloc";
/// `{id:i}`; the answer is the `cancelled` of sched.alloc.
inline constexpr std::string_view sched_cancel = "sched.cancel";
/// `{jobs:[[id:i, priority:i], ...]}`
inline constexpr std::string_view sched_prioritize = "sched.prioritize";
/// `{id:i, R:o, final:b}`: the job no longer has this part of its R.
inline constexpr std::string_view sched_free = "sched.free";
/// `{id:i, expiration:f}`, empty or an error.
inline constexpr std::string_view sched_expiration = "sched.expiration";

/// `type` of an answer to sched.alloc.
enum class AllocType : int {
    success = 0,   ///< with R, which is already in the KVS
    annotate = 1,  ///< with annotations
    deny = 2,      ///< never, see note
    cancelled = 3, ///< as asked by sched.cancel
};

// Execution services (RFC 32) ----------------------------------------------------------------------------------------

/// `{service:s}`, empty: the sender serves `SERVICE.start` and `SERVICE.expiration`. Replaces whoever did before.
inline constexpr Method exec_hello{"job-manager.exec-hello", MethodClass::read};
/// `SERVICE.start {id:i, userid:i, jobspec:o, R:o, reattach:b}`, without matchtag, answered any number of times by
/// `{id:i, type:s, data:o}`; types `start`, `reattached`, `exception`, `finish`, `release`. With `reattach` the job may
/// have shells, which are taken over; a job that has none left is finished and released, nothing is started. An error
/// closes the interface until the next exec-hello.
inline constexpr std::string_view exec_start = ".start";
/// `SERVICE.expiration {id:i, expiration:f}`, empty.
inline constexpr std::string_view exec_expiration = ".expiration";

// Plugins ------------------------------------------------------------------------------------------------------------

/// `{load?:s, conf?:o, remove?:s, query_only?:b}` to `{}` or, with query_only, `{plugins:[s, ...]}`.
inline constexpr Method jobtap{"job-manager.jobtap", MethodClass::once};
/// `{name:s}` to `{name:s, path:s, ...}`.
inline constexpr Method jobtap_query{"job-manager.jobtap-query", MethodClass::read};

/// From the broker: a client has gone.
inline constexpr Method disconnect{"job-manager.disconnect", MethodClass::read};

// Published events ---------------------------------------------------------------------------------------------------

/// Private, `{id:i, type:s, severity:i, wait_status?:i}`: an exception that did not come from the execution service.
inline constexpr std::string_view job_exception_event = "job-exception";
/// `{jobs:[i, ...]}`: these inactive jobs are no more.
inline constexpr std::string_view job_purge_event = "job-purge-inactive";
/// `shell-ID.kill {signum:i}`; ID in decimal.
inline std::string shell_kill_event(std::uint64_t id) { return "shell-" + std::to_string(id) + ".kill"; }

} // namespace flux::job_manager_protocol
