// The subprocess server of RFC 42, for the rexec module and for job shells.
#pragma once

#include <flux/process_host.hpp>
#include <flux/rexec_protocol.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace flux {

class RexecServerOptions {
public:
    RexecServerOptions() {}
    std::string service{rexec_protocol::default_service};
    std::uint32_t roles = role_owner; ///< who may call besides the owner
    std::uint32_t rank = 0;           ///< told in output and lists
    std::string local_uri;            ///< FLUX_URI of processes
    /// Throws for a request that is not allowed.
    std::function<void(const Request&)> authorize;
    std::function<void(LogLevel, const std::string&)> log;
};

class RexecServer {
public:
    RexecServer(Handle& handle, RexecServerOptions options);
    ~RexecServer();
    RexecServer(const RexecServer&) = delete;
    RexecServer& operator=(const RexecServer&) = delete;

    /// Let `make` be the host of processes that do not use the server's own stdio; by default they are children too.
    void use_host(const std::function<std::unique_ptr<ProcessHost>(ProcessHostEvents)>& make);
    /// Go on with processes that the host has kept from an earlier server. Their output waits until go_on().
    void adopt(std::vector<HostedProcess> processes);
    /// Register the methods.
    void serve();

    /// Reload: keep what is needed to go on with an open request; nothing when it is none of ours. After the first of
    /// these nothing is read or told any more.
    std::optional<Json> park(const Request& request);
    /// Stop reading and leave what is needed to go on with the host. Foreground processes whose requests were not
    /// parked are killed.
    void hand_over();
    /// Go on with a request from where it was parked. \throws Error ECONNRESET when its process is gone.
    void resume(Request request, JsonView cursor);
    /// Nothing more is resumed: foreground processes without a client are killed, the others are read from again.
    void go_on();

    /// Refuse new processes (ENOSYS).
    void refuse() noexcept;
    void signal_all(int signum);
    std::size_t process_count() const noexcept;
    /// Called once there is no process, which may be now.
    void when_empty(std::function<void()> callback);

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace flux
