#include <flux/pipe.hpp>
#include <flux/process_host.hpp>

#include <cerrno>
#include <csignal>
#include <sys/wait.h>

namespace flux {

ProcessHost::~ProcessHost() = default;

namespace {

using launcher_protocol::StreamKind;

} // namespace

struct LocalProcessHost::State : std::enable_shared_from_this<State> {
    struct Process {
        pid_t pid;
        bool process_group;
        bool ended = false;
        std::unique_ptr<ExitWatcher> watcher;
    };

    State(Loop& loop, ProcessHostEvents events) : loop(loop), events(std::move(events)) {}

    /// \return 0, or the errno of what failed.
    int start(std::uint64_t id, HostedStart& request) {
        HostedProcess result;
        std::vector<FileDescriptor> childs(request.streams.size());
        std::vector<int> fds;
        auto given = request.given.begin();
        for (std::size_t i = 0; i < request.streams.size(); ++i) {
            result.fds.emplace_back();
            auto kind = request.streams[i];
            if (kind == StreamKind::given && given != request.given.end())
                childs[i] = std::move(*given++);
            else if (launcher_protocol::has_our_end(kind))
                if (int errnum = launcher_protocol::open_ends(kind, result.fds[i], childs[i])) return errnum;
            fds.push_back(childs[i].get());
        }
        watch_stops();
        pid_t pid = spawn_process(request.command, fds);
        if (pid < 0) return -pid;
        std::unique_ptr<ExitWatcher> watcher;
        try {
            watcher = std::make_unique<ExitWatcher>(loop, pid, [this, id](int status) { on_exit(id, status); });
        } catch (const Error& error) {
            return error.errnum();
        }
        auto& process = processes[id];
        process.pid = pid;
        process.process_group = request.command.process_group;
        process.watcher = std::move(watcher);
        result.id = id;
        result.pid = pid;
        result.label = std::move(request.label);
        result.note = std::move(request.note);
        result.streams = std::move(request.streams);
        auto shared = std::make_shared<HostedProcess>(std::move(result)); // function objects are copied
        post([shared](State& state) { state.events.on_started(std::move(*shared)); });
        return 0;
    }

    int kill(std::uint64_t id, int signum) {
        auto found = processes.find(id);
        if (found == processes.end()) return ESRCH;
        const auto& process = found->second;
        if (process.ended && !process.process_group) return ESRCH;
        return ::kill(process.process_group ? -process.pid : process.pid, signum) < 0 ? errno : 0;
    }

    // Before a child can stop: a signal that nobody watches is lost.
    void watch_stops() {
        if (child_signal) return;
        child_signal = std::make_unique<SignalWatcher>(loop, SIGCHLD, [this](int) { look_for_stops(); });
    }

    void look_for_stops() {
        auto self = shared_from_this();
        for (const auto& [id, process] : processes) {
            siginfo_t info{};
            if (process.ended || ::waitid(P_PID, static_cast<id_t>(process.pid), &info, WSTOPPED | WNOHANG) < 0 ||
                info.si_pid != process.pid)
                continue;
            post([id = id, signum = info.si_status](State& state) { state.events.on_stopped(id, signum); });
        }
    }

    void on_exit(std::uint64_t id, int status) {
        auto self = shared_from_this();
        processes.at(id).ended = true;
        events.on_exited(id, status);
    }

    template <class F> void post(F work) {
        loop.post([weak = weak_from_this(), work] {
            if (auto self = weak.lock()) work(*self);
        });
    }

    Loop& loop;
    ProcessHostEvents events;
    std::uint64_t next_id = 1;
    std::map<std::uint64_t, Process> processes;
    std::unique_ptr<SignalWatcher> child_signal;
};

LocalProcessHost::LocalProcessHost(Loop& loop, ProcessHostEvents events)
    : state_(std::make_shared<State>(loop, std::move(events))) {}

LocalProcessHost::~LocalProcessHost() = default;

std::uint64_t LocalProcessHost::start(HostedStart request) {
    auto id = state_->next_id++;
    if (int errnum = state_->start(id, request))
        state_->post([id, errnum](State& state) { state.events.on_failed(id, errnum); });
    return id;
}

void LocalProcessHost::kill(std::uint64_t id, int signum) {
    int errnum = state_->kill(id, signum);
    state_->post([id, errnum](State& state) { state.events.on_killed(id, errnum); });
}

void LocalProcessHost::forget(std::uint64_t id) { state_->processes.erase(id); }

} // namespace flux
