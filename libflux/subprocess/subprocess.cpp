#include <flux/error.hpp>
#include <flux/launcher_protocol.hpp>
#include <flux/subprocess.hpp>

#include <cerrno>
#include <csignal>
#include <sys/wait.h>

namespace flux {
namespace {

/// Both ends of a stream: what the child gets and what we keep.
class Ends {
public:
    explicit Ends(const StreamSetup& setup, int number) {
        using launcher_protocol::StreamKind;
        auto kind = StreamKind::channel;
        switch (setup.kind) {
        case StreamSetup::Kind::inherit: child_ = number; return;
        case StreamSetup::Kind::null: return;
        case StreamSetup::Kind::given: child_ = setup.fd; return;
        case StreamSetup::Kind::pipe: kind = number == STDIN_FILENO ? StreamKind::input : StreamKind::output; break;
        case StreamSetup::Kind::channel: break;
        }
        if (int errnum = launcher_protocol::open_ends(kind, ours, owned_)) throw Error(errnum, "stream " + setup.name);
        child_ = owned_.get();
    }
    int child() const noexcept { return child_; }
    FileDescriptor ours;

private:
    FileDescriptor owned_;
    int child_ = -1;
};

} // namespace

SubprocessSetup::SubprocessSetup(Command command) : command(std::move(command)) {
    for (const char* name : {"stdin", "stdout", "stderr"}) streams.emplace_back(name, StreamSetup::Kind::inherit);
}

StreamSetup& SubprocessSetup::stream(std::string_view name) {
    for (auto& stream : streams) {
        if (stream.name == name) return stream;
    }
    throw Error(EINVAL, "there is no stream " + std::string(name));
}

StreamSetup& SubprocessSetup::pipe(std::string_view name) {
    auto& result = stream(name);
    result.kind = StreamSetup::Kind::pipe;
    return result;
}

StreamSetup& SubprocessSetup::channel(const std::string& name) {
    command.setenv(name, std::to_string(streams.size()));
    return streams.emplace_back(name, StreamSetup::Kind::channel);
}

int SubprocessSetup::pass(int fd) {
    int number = static_cast<int>(streams.size());
    streams.emplace_back(std::to_string(number), StreamSetup::Kind::given).fd = fd;
    return number;
}

struct Subprocess::State : std::enable_shared_from_this<State> {
    State(Loop& loop, bool process_group, SubprocessEvents events)
        : events(std::move(events)),
          process_group(process_group),
          streams(
              loop, [this](const std::string& stream, std::string_view data) { on_output(stream, data); },
              this->events.on_consumed) {}

    void start(Loop& loop, const SubprocessSetup& setup) {
        std::vector<Ends> ends;
        std::vector<int> fds;
        for (const auto& stream : setup.streams) {
            ends.emplace_back(stream, static_cast<int>(fds.size()));
            fds.push_back(ends.back().child());
        }
        // Before the child can stop: a signal that nobody watches is lost.
        if (events.on_stopped)
            child_signal = std::make_unique<SignalWatcher>(loop, SIGCHLD, [this](int) { look_for_stop(); });
        pid = spawn_process(setup.command, fds);
        if (pid < 0) throw Error(-pid, "error launching process: " + errno_text(-pid));
        exit_watcher = std::make_unique<ExitWatcher>(loop, pid, [this](int result) { on_exit(result); });
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const auto& stream = setup.streams[i];
            if (stream.kind == StreamSetup::Kind::channel)
                streams.add_channel(stream.name, std::move(ends[i].ours), stream.mode, stream.limit);
            else if (stream.kind == StreamSetup::Kind::pipe && i == STDIN_FILENO)
                streams.add_writer(stream.name, std::move(ends[i].ours), stream.limit);
            else if (stream.kind == StreamSetup::Kind::pipe)
                streams.add_reader(stream.name, std::move(ends[i].ours), stream.mode, stream.limit);
        }
    }

    void on_output(const std::string& stream, std::string_view data) {
        auto self = shared_from_this();
        if (events.on_output && !dropped) events.on_output(stream, data);
        if (data.empty()) check_complete();
    }

    void on_exit(int result) {
        auto self = shared_from_this();
        status = result;
        child_signal.reset();
        if (events.on_exit) events.on_exit(result);
        check_complete();
    }

    void look_for_stop() {
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid)
            events.on_stopped(info.si_status);
    }

    void check_complete() {
        if (dropped || complete || !status || !streams.all_ended()) return;
        complete = true;
        if (events.on_complete) events.on_complete();
    }

    SubprocessEvents events;
    bool process_group;
    pid_t pid = -1;
    std::optional<int> status;
    bool complete = false;
    bool dropped = false;
    ProcessStreams streams;
    std::unique_ptr<ExitWatcher> exit_watcher;
    std::unique_ptr<SignalWatcher> child_signal;
};

Subprocess::Subprocess(Loop& loop, const SubprocessSetup& setup, SubprocessEvents events)
    : state_(std::make_shared<State>(loop, setup.command.process_group, std::move(events))) {
    state_->start(loop, setup);
}

Subprocess::~Subprocess() {
    state_->dropped = true; // a callback that destroys us is still on the stack of its caller
}

pid_t Subprocess::pid() const noexcept { return state_->pid; }
std::optional<int> Subprocess::status() const noexcept { return state_->status; }
ProcessStreams& Subprocess::streams() noexcept { return state_->streams; }

void Subprocess::kill(int signum) {
    if (state_->status && (!state_->process_group || state_->complete)) throw Error(ESRCH);
    if (::kill(state_->process_group ? -state_->pid : state_->pid, signum) < 0) throw Error(errno);
}

} // namespace flux
