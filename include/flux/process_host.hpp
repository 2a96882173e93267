// Who starts the processes of a SubprocessServer: this program (LocalProcessHost) or the launcher of its rank
// (LauncherHost), whose processes survive it.
#pragma once

#include <flux/error.hpp>
#include <flux/launcher_protocol.hpp>
#include <flux/loop.hpp>
#include <flux/spawn.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace flux {

class HostedStart {
public:
    HostedStart() {}
    using StreamKind = launcher_protocol::StreamKind;
    Command command;
    std::string label;
    std::vector<StreamKind> streams;   ///< the position is the child's descriptor
    std::vector<FileDescriptor> given; ///< of the `given` streams, in order
    std::string note;                  ///< whatever the starter wants to find again
    bool keep_status = false;          ///< keep the wait status until forget(), however long nobody asks
};

/// A process of a host, as it is told after a start or when the host is asked for what there is.
class HostedProcess {
public:
    HostedProcess() {}
    std::uint64_t id = 0;
    pid_t pid = -1;
    double start_time = 0; ///< seconds of the wall clock
    std::string label;
    std::string note;
    std::vector<launcher_protocol::StreamKind> streams; ///< `null` where our end is closed
    std::vector<FileDescriptor> fds;                    ///< our ends, by stream
    std::optional<int> status;                          ///< set when it has ended
};

class ProcessHostEvents {
public:
    ProcessHostEvents() {}
    std::function<void(HostedProcess)> on_started;
    std::function<void(std::uint64_t id, int errnum)> on_failed;
    std::function<void(std::uint64_t id, int signum)> on_stopped;
    std::function<void(std::uint64_t id, int status)> on_exited;
    /// Answer of kill().
    std::function<void(std::uint64_t id, int errnum)> on_killed;
    /// The host is gone: nothing more will be heard of any of its processes. A new start makes a new host.
    std::function<void(const Error&)> on_lost;
};

/// All calls and events on one loop's thread; events never come from inside a call.
class ProcessHost {
public:
    virtual ~ProcessHost();
    /// Start a process. \return its id; on_started or on_failed follows.
    virtual std::uint64_t start(HostedStart request) = 0;
    /// Signal the process group of a process, or the process when it leads none. on_killed follows; the answers come in
    /// the order of the calls.
    virtual void kill(std::uint64_t id, int signum) = 0;
    /// Close our end of a stream for good, also where the host keeps it.
    virtual void close_stream(std::uint64_t id, std::size_t stream) = 0;
    virtual void set_note(std::uint64_t id, std::string_view note) = 0;
    /// Nothing is to be known of this process any more.
    virtual void forget(std::uint64_t id) = 0;
};

class LocalProcessHost final : public ProcessHost {
public:
    LocalProcessHost(Loop& loop, ProcessHostEvents events);
    ~LocalProcessHost() override;
    std::uint64_t start(HostedStart request) override;
    void kill(std::uint64_t id, int signum) override;
    void close_stream(std::uint64_t, std::size_t) override {}
    void set_note(std::uint64_t, std::string_view) override {}
    void forget(std::uint64_t id) override;

private:
    struct State;
    std::shared_ptr<State> state_;
};

class LauncherOptions {
public:
    LauncherOptions() {}
    std::string program;                    ///< path of flux-launcher
    std::string socket_path;                ///< in the run directory
    std::optional<unsigned> client_timeout; ///< seconds without us after which the launcher ends everything
};

/// The client of flux-launcher. It starts the launcher when the first process is started.
class LauncherHost final : public ProcessHost {
public:
    LauncherHost(Loop& loop, LauncherOptions options, ProcessHostEvents events);
    ~LauncherHost() override;

    /// Ask a launcher that is there already for its processes; the callback gets none when there is no launcher.
    void connect(std::function<void(std::vector<HostedProcess>)> on_listed);
    std::uint64_t start(HostedStart request) override;
    void kill(std::uint64_t id, int signum) override;
    void close_stream(std::uint64_t id, std::size_t stream) override;
    void set_note(std::uint64_t id, std::string_view note) override;
    void forget(std::uint64_t id) override;
    /// End all processes and the launcher.
    void terminate();
    bool connected() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace flux
