#include <flux/pipe.hpp>
#include <flux/process_host.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace flux {

using namespace launcher_protocol;

namespace {

/// A launcher that was about to end when we connected is replaced; more than that is a fault.
constexpr int start_attempts = 3;
/// How long a launcher that is busy or just starting may keep us from leaving.
constexpr int last_words_ms = 1000;

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw Error(ENAMETOOLONG, fmt::format("launcher socket {}: path is too long", path));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

FileDescriptor new_socket() {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) throw Error(errno, "launcher socket");
    return socket;
}

} // namespace

struct LauncherHost::State : std::enable_shared_from_this<State> {
    State(Loop& loop, LauncherOptions options, ProcessHostEvents events)
        : loop(loop), options(std::move(options)), events(std::move(events)) {}

    /// False when there is no launcher.
    bool connect() {
        auto fresh = new_socket();
        auto address = address_of(options.socket_path);
        if (::connect(fresh.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) {
            if (errno == ENOENT || errno == ECONNREFUSED) return false;
            throw Error(errno, "cannot connect to launcher socket " + options.socket_path);
        }
        socket = std::move(fresh);
        watcher = std::make_unique<FdWatcher>(loop, socket.get(), [this](int directions) { on_ready(directions); });
        welcomed = false;
        Packet hello;
        hello.operation = Operation::hello;
        hello.body = BodyWriter().u32(version).take();
        int errnum = send_packet(socket.get(), hello);
        watcher->watch(FdWatcher::readable);
        if (errnum != 0)
            loop.post([weak = weak_from_this(), errnum] {
                if (auto self = weak.lock()) self->lose(errnum);
            });
        return true;
    }

    /// The launcher inherits its listening socket: we can connect before it runs.
    void start_launcher() {
        auto listener = new_socket();
        auto address = address_of(options.socket_path);
        ::unlink(options.socket_path.c_str()); // nobody listens there
        ::fchmod(listener.get(), 0600);
        if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
            ::listen(listener.get(), 8) < 0)
            throw Error(errno, "cannot make launcher socket " + options.socket_path);
        Command command({options.program});
        if (options.client_timeout) command.argv.push_back(fmt::format("--client-timeout={}", *options.client_timeout));
        command.argv.push_back(options.socket_path);
        pid_t pid = spawn_process(command, {-1, -1, -1, listener.get()});
        if (pid < 0) throw Error(-pid, fmt::format("cannot start {}: {}", options.program, errno_text(-pid)));
        // It goes to the background by itself; what we wait for is its first process, which ends at once.
        starter = std::make_unique<ExitWatcher>(loop, pid, [](int) {});
    }

    void need_launcher() {
        if (socket) return;
        while (!connect()) {
            if (++attempts > start_attempts)
                throw Error(ECONNREFUSED, fmt::format("{} does not stay running", options.program));
            start_launcher();
        }
    }

    void send(Packet packet) {
        queue.push_back(std::move(packet));
        flush();
    }

    void send(Operation operation, std::uint64_t id, std::string body = {}) {
        if (!socket) return; // there is no launcher, so it has nothing of this process
        Packet packet;
        packet.operation = operation;
        packet.id = id;
        packet.body = std::move(body);
        send(std::move(packet));
    }

    void flush() {
        if (!socket || !welcomed) return;
        while (!queue.empty()) {
            int errnum = send_packet(socket.get(), queue.front());
            if (errnum == EAGAIN) break;
            if (errnum == EMSGSIZE)
                post_failed(queue.front().id, E2BIG);
            else if (errnum != 0)
                break; // the end of the connection is seen by reading
            queue.pop_front();
        }
        watcher->watch(FdWatcher::readable | (queue.empty() ? 0 : FdWatcher::writable));
    }

    void post_failed(std::uint64_t id, int errnum) {
        loop.post([weak = weak_from_this(), id, errnum] {
            if (auto self = weak.lock()) self->events.on_failed(id, errnum);
        });
    }

    void on_ready(int directions) {
        auto self = shared_from_this();
        if (directions & FdWatcher::writable) flush();
        Packet packet;
        // A bound, so that a burst of ended processes does not keep the rest of the loop waiting.
        for (int i = 0; i < 64 && socket && !closing; ++i) {
            int errnum = receive_packet(socket.get(), packet);
            if (errnum == EAGAIN) return;
            if (errnum != 0) return lose(errnum);
            handle(packet);
        }
    }

    void handle(Packet& packet) {
        BodyReader body(packet.body);
        switch (packet.operation) {
        case Operation::welcome: return on_welcome(body);
        case Operation::started: return on_started(packet, body);
        case Operation::failed: {
            starting.erase(packet.id);
            return events.on_failed(packet.id, static_cast<int>(body.u32()));
        }
        case Operation::killed: return events.on_killed(packet.id, static_cast<int>(body.u32()));
        case Operation::stopped: return events.on_stopped(packet.id, static_cast<int>(body.u32()));
        case Operation::exited: return events.on_exited(packet.id, static_cast<int>(body.u32()));
        case Operation::process: return on_process(packet);
        case Operation::listed: {
            auto callback = std::exchange(on_listed, {});
            if (callback) callback(std::exchange(found, {}));
            return;
        }
        default: return; // of a newer launcher
        }
    }

    void on_welcome(BodyReader& body) {
        body.u32(); // version: there is only one
        body.u32(); // pid
        next_id = std::max(next_id, body.u64());
        welcomed = true;
        attempts = 0;
        flush();
    }

    void on_started(Packet& packet, BodyReader& body) {
        auto entry = starting.find(packet.id);
        if (entry == starting.end()) return;
        HostedProcess process = std::move(entry->second);
        starting.erase(entry);
        process.pid = static_cast<pid_t>(body.u32());
        process.start_time = static_cast<double>(body.u64()) * 1e-9;
        place_fds(process, packet);
        events.on_started(std::move(process));
    }

    void on_process(Packet& packet) {
        ProcessBody body;
        if (!body.decode(packet.body)) return;
        HostedProcess process;
        process.id = packet.id;
        process.pid = static_cast<pid_t>(body.pid);
        process.start_time = static_cast<double>(body.start_time) * 1e-9;
        process.label = std::move(body.label);
        process.note = std::move(body.note);
        process.streams = std::move(body.streams);
        if (body.state == ProcessState::ended) process.status = static_cast<int>(body.status);
        place_fds(process, packet);
        found.push_back(std::move(process));
    }

    static void place_fds(HostedProcess& process, Packet& packet) {
        auto next = packet.fds.begin();
        process.fds.resize(process.streams.size());
        for (std::size_t i = 0; i < process.streams.size() && next != packet.fds.end(); ++i) {
            if (has_our_end(process.streams[i])) process.fds[i] = std::move(*next++);
        }
    }

    void lose(int errnum) {
        watcher.reset();
        socket.reset();
        if (closing) return;
        if (!welcomed) { // it was about to end: what we asked was not read
            try {
                return need_launcher();
            } catch (const Error& error) {
                errnum = error.errnum();
            }
        }
        queue.clear();
        starting.clear();
        if (auto callback = std::exchange(on_listed, {})) callback({});
        events.on_lost(Error(errnum, fmt::format("lost flux-launcher: {}", errno_text(errnum))));
    }

    /// Wait until the launcher has taken what we asked for: whoever comes after us finds it done.
    void last_words() {
        closing = true;
        while (socket && !queue.empty()) {
            pollfd ready{socket.get(), static_cast<short>(welcomed ? POLLOUT : POLLIN), 0};
            if (::poll(&ready, 1, last_words_ms) <= 0) break;
            Packet packet;
            if (welcomed) {
                if (send_packet(socket.get(), queue.front()) != 0) break;
                queue.pop_front();
            } else {
                if (receive_packet(socket.get(), packet) != 0) break;
                welcomed = packet.operation == Operation::welcome;
            }
        }
        watcher.reset();
        socket.reset();
    }

    Loop& loop;
    LauncherOptions options;
    ProcessHostEvents events;
    FileDescriptor socket;
    std::unique_ptr<FdWatcher> watcher;
    std::unique_ptr<ExitWatcher> starter;
    bool welcomed = false;
    bool closing = false;
    int attempts = 0;
    std::deque<Packet> queue;
    std::uint64_t next_id = 1;
    std::map<std::uint64_t, HostedProcess> starting; ///< what we know of it before it has a pid
    std::vector<HostedProcess> found;
    std::function<void(std::vector<HostedProcess>)> on_listed;
};

LauncherHost::LauncherHost(Loop& loop, LauncherOptions options, ProcessHostEvents events)
    : state_(std::make_shared<State>(loop, std::move(options), std::move(events))) {}

LauncherHost::~LauncherHost() { state_->last_words(); }

void LauncherHost::connect(std::function<void(std::vector<HostedProcess>)> on_listed) {
    if (!state_->connect()) {
        state_->loop.post([on_listed = std::move(on_listed)] { on_listed({}); });
        return;
    }
    state_->on_listed = std::move(on_listed);
    state_->send(Operation::list, 0);
}

std::uint64_t LauncherHost::start(HostedStart request) {
    auto id = state_->next_id++;
    try {
        state_->need_launcher();
    } catch (const Error& error) {
        state_->post_failed(id, error.errnum());
        return id;
    }
    StartBody body;
    body.flags = (request.command.process_group ? process_group : 0u) | (request.keep_status ? keep_status : 0u);
    body.label = request.label;
    body.cwd = std::move(request.command.cwd);
    body.fallback_cwd = std::move(request.command.fallback_cwd);
    body.argv = std::move(request.command.argv);
    body.env = std::move(request.command.env);
    body.streams = request.streams;
    body.note = request.note;
    Packet packet;
    packet.operation = Operation::start;
    packet.id = id;
    packet.body = body.encode();
    packet.fds = std::move(request.given);
    auto& process = state_->starting[id];
    process.id = id;
    process.label = std::move(request.label);
    process.note = std::move(body.note);
    process.streams = std::move(body.streams);
    state_->send(std::move(packet));
    return id;
}

void LauncherHost::kill(std::uint64_t id, int signum) {
    if (!state_->socket) {
        return state_->loop.post([weak = state_->weak_from_this(), id] {
            if (auto self = weak.lock()) self->events.on_killed(id, ESRCH);
        });
    }
    state_->send(Operation::kill, id, BodyWriter().u32(static_cast<std::uint32_t>(signum)).take());
}

void LauncherHost::close_stream(std::uint64_t id, std::size_t stream) {
    state_->send(Operation::close_stream, id, BodyWriter().u32(static_cast<std::uint32_t>(stream)).take());
}

void LauncherHost::set_note(std::uint64_t id, std::string_view note) {
    state_->send(Operation::set_note, id, BodyWriter().text(note).take());
}

void LauncherHost::forget(std::uint64_t id) { state_->send(Operation::forget, id); }
void LauncherHost::terminate() { state_->send(Operation::terminate, 0); }
bool LauncherHost::connected() const noexcept { return static_cast<bool>(state_->socket); }

} // namespace flux
