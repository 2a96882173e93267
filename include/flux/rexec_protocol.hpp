// Subprocess server (RFC 42): service `rexec` on every rank, `USERID-shell-JOBID.rexec` in every job shell. Payload
// shapes: s string, i integer, o object, `?` optional. Server: flux/rexec_server.hpp; client: flux/rexec.hpp.
//
// `cmd` is `{cmdline:[s], env:{s:s}, opts:{s:s}, channels:[s], cwd?:s, label?:s}`; an empty env is the server's. `io`
// is stream data (RFC 24) whose rank is that of the server. A process is named by `label` if there is one, else by
// `pid`.
#pragma once

#include <flux/handle.hpp>

#include <string>

namespace flux::rexec_protocol {

inline constexpr std::string_view default_service = "rexec";

enum Flag : int {
    forward_stdout = 1,
    forward_stderr = 2,
    forward_channels = 4,
    write_credit = 8, ///< tell how much may be written
    waitable = 16,    ///< background: keep the status for wait or attach
};

enum LocalFlag : int {
    stdio_fallthrough = 1, ///< stdio of the server itself
    no_process_group = 2,
    fork_exec = 4, ///< accepted; there is one way of starting
};

/// `{cmd:o, flags:i, local_flags?:i}`. Streaming: `{type:"started", pid:i}`, then any of `{type:"output", pid:i,
/// io:o}`,
/// `{type:"add-credit", channels:{s:i}}`, `{type:"stopped"}`, `{type:"finished", status:i}`; it ends when the process
/// has finished and each forwarded stream has told its eof. Plain: the process runs in the background, its output is
/// logged, the answer is `{type:"started", pid:i}`. Errors of the execution itself: `error launching process: ...`.
inline constexpr Method exec{"rexec.exec", MethodClass::stream};
/// `{matchtag:i, io:o}`, no response: input for what this client started by that matchtag.
inline constexpr Method write{"rexec.write", MethodClass::once};
/// `{pid:i, signum:i, label?:s}` to its process group. ESRCH.
inline constexpr Method kill{"rexec.kill", MethodClass::once};
/// To `{rank:i, procs:[{pid:i, cmd:s, label:s, state:s}]}`; state R, or Z: ended and not waited for.
inline constexpr Method list{"rexec.list", MethodClass::read};
/// `{pid:i, label?:s, keep?:b}` to `{status:i, output?:[io]}` when a waitable process has ended, which drops it unless
/// `keep` is set. ESRCH, EINVAL, EBUSY.
inline constexpr Method wait{"rexec.wait", MethodClass::read};
/// `{pid:i, label?:s}`: drop a background process that has ended. ESRCH, EBUSY.
inline constexpr Method forget{"rexec.forget", MethodClass::read};
/// Streaming. `{pid:i, label?:s, flags:i}`: `{type:"attached", pid:i, cmd:o}`, then as exec. ENOENT, EBUSY.
inline constexpr Method attach{"rexec.attach", MethodClass::stream};
/// `{matchtag:i}`, no response: as if that client had gone, for one request of exec, attach or wait.
inline constexpr Method cancel{"rexec.cancel", MethodClass::once};
/// Its client has gone: its foreground processes are killed, attached ones return to the background.
inline constexpr Method disconnect{"rexec.disconnect", MethodClass::once};

/// Topic of a method in another service of this protocol.
inline std::string topic(const Method& method, std::string_view service) {
    return std::string(service).append(method.topic.substr(default_service.size()));
}

} // namespace flux::rexec_protocol
