// Execution of jobs: service `job-exec` on rank 0, the coordinator, which speaks RFC 32 with job-manager, and service
// `exec-agent` on every rank, which starts and watches the job shells of its rank. What a shell asks of its agent:
// flux/shell_protocol.hpp. Payload shapes: s string, i integer, f real, b boolean, o object, a array, `?` optional.
// Common errors: EPROTO for a payload that cannot be read; ENOENT `unknown job`, EPERM for somebody else's job.
#pragma once

#include <flux/handle.hpp>

#include <string_view>

namespace flux {

namespace job_exec_protocol {

inline constexpr std::string_view service = "job-exec";

/// RFC 32, see flux/job_manager_protocol.hpp.
inline constexpr Method start{"job-exec.start", MethodClass::once};
/// `{id:i, expiration:f}` (0: none), empty answer.
inline constexpr Method expiration{"job-exec.expiration", MethodClass::read};
/// `{id:i, ranks:idset}`, empty answer when it is durable: the shell ranks without which the job cannot go on; at first
/// all. EINVAL.
inline constexpr Method critical_ranks{"job-exec.critical-ranks", MethodClass::read, role_user};
/// `{event:"start"|"finish", jobid:i, status?:i}`, empty answer: for mock execution in override mode, by the job's
/// user.
inline constexpr Method override_event{"job-exec.override", MethodClass::once, role_user};
/// `{rank:i}`, no answer: an agent has shells of which this coordinator may not know.
inline constexpr Method announce{"job-exec.announce", MethodClass::read};
/// Settings, and `jobs` by id.
inline constexpr Method stats_get{"job-exec.stats-get", MethodClass::read};

/// Published, private, no payload: a coordinator has come up; agents with shells announce themselves.
inline constexpr std::string_view up_event = "job-exec-up";

} // namespace job_exec_protocol

// All of these come from the coordinator; but for hello none has an answer, and each may be sent again.
namespace exec_agent_protocol {

inline constexpr std::string_view service = "exec-agent";

/// Streaming, no payload, to `{shells:[o, ...]}`: first all shells that this agent has or had, then each that has
/// changed. The newest hello is the one that counts. A shell is
///
///   id         i   job id
///   state      s   `starting`, `running`, `ended` or `failed` (to start)
///   status     i?  ended: its wait status; absent when nobody knows it
///   errnum     i?  failed, or ended without status: why
///   error      s?
///   entered    i   the last barrier that it has entered, and
///   released   i   the last one that it was let through
///   expired    b?  the job's time is up
///   output     a?  ended: last lines that it wrote, `{stream:s, data:s}`
inline constexpr Method hello{"exec-agent.hello", MethodClass::stream};
/// `{jobs:[{id:i, userid:i, R:o, J:s, argv:[s, ...], env?:{s:s}}, ...]}`: start a shell for each, unless there is or
/// was one.
inline constexpr Method launch{"exec-agent.launch", MethodClass::read};
/// `{jobs:[[id:i, signum:i], ...]}`
inline constexpr Method signal{"exec-agent.signal", MethodClass::read};
/// `{jobs:[[id:i, seq:i], ...]}`: let shells through that barrier; seq 0: through none any more (EIO).
inline constexpr Method release{"exec-agent.release", MethodClass::read};
/// `{id:i, expiration:f}`: the time limit has changed.
inline constexpr Method expiration{"exec-agent.expiration", MethodClass::read};
/// `{ids:[i, ...]}`: end these shells, forget them then.
inline constexpr Method end{"exec-agent.end", MethodClass::read};
/// `{ids:[i, ...]}`: nothing more is to be known of these shells, which have ended.
inline constexpr Method forget{"exec-agent.forget", MethodClass::read};
/// `{matchtag:i}`: the end of a hello.
inline constexpr Method cancel{"exec-agent.cancel", MethodClass::read};
/// From the broker: a client has gone.
inline constexpr Method disconnect{"exec-agent.disconnect", MethodClass::read};

} // namespace exec_agent_protocol
} // namespace flux
