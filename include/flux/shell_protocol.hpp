// Between job shells, the exec agent of their broker and clients (shell.md 1.1, 1.6, 1.7).
//
// The agent starts `flux-shell JOBID` with FLUX_URI and FLUX_KVS_NAMESPACE in the environment and, in FLUX_SHELL_INIT,
// the path of a file whose first line holds one JSON object, the launch:
//
//   id           i    job id
//   userid       i    the job's user
//   owner        i    uid of the instance owner
//   broker_rank  i    rank of the local broker
//   R            o    resources of the whole job, without `scheduling`
//   J            s    the signed jobspec (RFC 39), or
//   jobspec      o    the jobspec itself
//   attrs        o?   attributes of the broker, strings: those of launch_attributes that are set
//   cpusets      s[]? for each logical core of the host its CPUs as an idset, for binding
//
// All else follows: shell rank r is the r-th smallest rank of R, 0 is the leader. Without the variable the shell looks
// the same things up (`job-info.lookup`, `attr.get`), so that it can be started by hand.
#pragma once

#include <flux/handle.hpp>
#include <flux/job_id.hpp>

#include <cstdint>
#include <string>

namespace flux::shell_protocol {

inline constexpr const char* init_variable = "FLUX_SHELL_INIT";
/// What shells want to know of their broker.
inline constexpr const char* launch_attributes[] = {
    "jobid-path", "rundir", "instance-level", "tbon.interface-hint", "conf.shell_pluginpath", "vendor.module-limit",
};

// What a shell asks of the agent ---------------------------------------------------------------------------------

/// `{id, rank, seq}`: the shell on broker `rank` of job `id` has entered barrier `seq` (1: after shell.init, 2: all
/// tasks run); it enters them in order and may ask again. Answered, without payload, when all shells of the job have
/// entered `seq` or one was already let through it. A job of one shell has no barriers.
/// EIO: another shell has exited, the job is over (the shell leaves without a word). ENOENT: no such shell here.
/// EPERM: not the job's user. EINVAL: a `seq` that is neither the last entered nor the one after it.
inline constexpr Method barrier{"exec-agent.shell-barrier", MethodClass::read, role_user};

// What a shell serves --------------------------------------------------------------------------------------------
// Under `service_name()`, the same at each broker of the job: address the rank. The owner and the shell's user may
// call.

/// `UID-shell-fID`
inline std::string service_name(std::uint32_t userid, JobId id) {
    return std::to_string(userid) + "-shell-" + id.f58plain();
}

/// Leader. `{type, severity, shell_rank, message?}`, empty answer: a shell was lost (`type` is `lost-shell`; severity 0
/// when its rank is critical, else 2). A message is logged. Sent by the exec service.
inline constexpr std::string_view exception = "exception";
/// Leader. `{ranks}`, empty answer: the critical shell ranks, as the exec service keeps them, have changed.
inline constexpr std::string_view critical_ranks = "critical-ranks";
/// Leader. RFC 24 data context `{stream:"stdin", rank, data?, encoding?, eof?}`, empty answer. EPIPE: a rank named has
/// no open stdin.
inline constexpr std::string_view stdin_data = "stdin";

/// All. `{rank, seq, messages: [[kind, payload], …]}`, empty answer: messages of shell `rank` for this one, see below.
/// They are taken once and in order: the sender repeats a `seq` until it is answered.
inline constexpr std::string_view link = "link";

// Kinds of messages between shells (Shell::send()):
/// To the leader. `{name: "data"|"log", context}`: output of a task, or a log message for the leader's file.
inline constexpr std::string_view write = "write";
/// From the leader. An accepted stdin_data request.
inline constexpr std::string_view stdin_relay = "stdin";
/// To the leader. The first end of a task (shell.md 1.9).
inline constexpr std::string_view doom = "doom";
/// To the leader. `{}`: the tasks of the shell have ended.
inline constexpr std::string_view tasks_complete = "tasks-complete";
/// To the parent in the tree of PMI. Key-value pairs of a subtree.
inline constexpr std::string_view pmi_exchange = "pmi-exchange";
/// From the parent. Those of the job.
inline constexpr std::string_view pmi_result = "pmi-result";

// Other names ----------------------------------------------------------------------------------------------------

/// KVS namespace of a job, `job-ID`.
inline std::string guest_namespace(JobId id) { return "job-" + id.dec(); }
/// Event `{signum}`: signal all running tasks of the job.
inline std::string kill_event(JobId id) { return "shell-" + id.dec() + ".kill"; }
/// Keys in the guest namespace.
inline constexpr std::string_view exec_eventlog_key = "exec.eventlog";
inline constexpr std::string_view output_key = "output";
inline constexpr std::string_view input_key = "input";

} // namespace flux::shell_protocol
