// Client of subprocess servers (RFC 42; flux/rexec_protocol.hpp): start processes on a rank, be told of them, wait for
// them.
#pragma once

#include <flux/handle.hpp>
#include <flux/io_data.hpp>
#include <flux/remote_command.hpp>
#include <flux/reply.hpp>
#include <flux/rexec_protocol.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::rexec {

/// A subprocess server. `Server().rank(3)`
class Server {
public:
    Server() {}
    Server& rank(std::uint32_t rank) noexcept { return rank_ = rank, *this; }
    Server& service(std::string name) { return service_ = std::move(name), *this; }

    std::string topic(const Method& method) const { return rexec_protocol::topic(method, service_); }
    CallOptions options() const noexcept;

private:
    std::optional<std::uint32_t> rank_; ///< not set: that of the own broker
    std::string service_{rexec_protocol::default_service};
};

/// Names one process of a server.
class ProcessName {
public:
    ProcessName(pid_t pid) noexcept : pid_(pid) {}
    ProcessName(std::string label) : label_(std::move(label)) {}
    /// `{pid, label?}`
    Json encode() const;

private:
    pid_t pid_ = -1;
    std::string label_;
};

/// Start in the background. \return its pid.  \param waitable  keep the status until wait() or attach.
Reply<pid_t> start(Handle& handle, const Server& server, const RemoteCommand& command, bool waitable = false);

class WaitResult {
public:
    WaitResult() {}
    int status = 0;             ///< as wait(2) gives it
    std::vector<IoData> output; ///< its last output
};
/// The end of a waitable process, which is dropped by that. \param keep  until forget(), for who must not lose it with
/// the answer.
Reply<WaitResult> wait(Handle& handle, const Server& server, const ProcessName& process, bool keep = false);
/// Drop a background process that has ended. Await the answer. \throws Error ESRCH, EBUSY
Call forget(Handle& handle, const Server& server, const ProcessName& process);

/// Signal its process group. Await the answer. \throws Error ESRCH
Call kill(Handle& handle, const Server& server, const ProcessName& process, int signum);

class ProcessInfo {
public:
    ProcessInfo() {}
    std::uint32_t rank = 0; ///< of its server
    pid_t pid = -1;
    std::string command;
    std::string label;
    std::string state; ///< R, or Z
};
Reply<std::vector<ProcessInfo>> list(Handle& handle, const Server& server);

/// What is told of a process in the foreground, or attached. Any of these may destroy the Process.
class ProcessEvents {
public:
    ProcessEvents() {}
    std::function<void(pid_t)> on_started; ///< or attached
    /// Data of a stream; an empty view is its end.
    std::function<void(const std::string& stream, std::string_view data)> on_output;
    /// All that was written has been taken by the server.
    std::function<void(const std::string& stream)> on_written;
    std::function<void()> on_stopped;
    /// It ended, with this wait status; output may follow.
    std::function<void(int status)> on_finished;
    /// The last that is told. Nothing: it finished and its streams ended.
    std::function<void(const std::optional<Error>& failure)> on_end;
};

/// A process in the foreground: it is killed when this is destroyed before its end. Or one that is attached to, which
/// returns to the background then.
class Process {
public:
    /// \param flags  of rexec_protocol::Flag.
    Process(Handle& handle, const Server& server, const RemoteCommand& command, ProcessEvents events,
            int flags = rexec_protocol::forward_stdout | rexec_protocol::forward_stderr | rexec_protocol::write_credit,
            int local_flags = 0);
    /// Attach to a process in the background.
    Process(Handle& handle, const Server& server, const ProcessName& process, ProcessEvents events,
            int flags = rexec_protocol::forward_stdout | rexec_protocol::forward_stderr);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// -1 until it has started.
    pid_t pid() const noexcept;
    /// Send input, as fast as the server takes it.
    void write(const std::string& stream, std::string_view data);
    /// End of input, after what was written.
    void close(const std::string& stream);
    /// What waits for the server to take it.
    std::size_t queued(const std::string& stream) const noexcept;
    /// Signal it; before it has started: as soon as it has.
    void kill(int signum);

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace flux::rexec
