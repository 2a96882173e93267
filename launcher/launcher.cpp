#include "launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace flux::launcher {

using namespace launcher_protocol;
using namespace std::chrono_literals;

namespace {

/// How long a broker that restarts at once, or a module that is reloaded, finds an idle launcher still there, and the
/// status of a process whose status nobody asked to keep.
constexpr auto idle_grace = 30s;
/// Between SIGTERM and SIGKILL when everything ends, and between SIGKILL and giving up on the unkillable.
constexpr auto kill_grace = 5s;

std::uint64_t wall_clock_ns() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
}

std::vector<FileDescriptor> copies(const std::vector<FileDescriptor>& fds) {
    std::vector<FileDescriptor> result;
    for (const auto& fd : fds) {
        if (fd) result.emplace_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    }
    return result;
}

/// Direct children: what we started and what was left to us.
std::vector<pid_t> children() {
    std::vector<pid_t> result;
    auto pid = std::to_string(::getpid());
    auto path = "/proc/self/task/" + pid + "/children";
    if (std::FILE* file = std::fopen(path.c_str(), "re")) {
        for (int child; std::fscanf(file, "%d", &child) == 1;) result.push_back(child);
        std::fclose(file);
    }
    return result;
}

} // namespace

Launcher::Launcher(FileDescriptor listener, std::string path, std::optional<Clock::duration> client_timeout)
    : listener_(std::move(listener)), path_(std::move(path)), client_timeout_(client_timeout) {}

int Launcher::run() {
    if (int errnum = set_up()) return errnum;
    while (!done()) {
        if (int errnum = wait_and_handle()) return errnum;
    }
    if (is_our_socket()) ::unlink(path_.c_str());
    return 0;
}

int Launcher::set_up() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Every process takes some of our descriptors; children get the limit that we were given.
    ::getrlimit(RLIMIT_NOFILE, &file_limit_);
    if (::stat(path_.c_str(), &socket_file_) < 0) return errno;

    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGCHLD);
    ::sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    directory_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!signals_ || !directory_ || !epoll_) return errno;
    auto directory = path_.substr(0, path_.rfind('/') + 1);
    if (::inotify_add_watch(directory_.get(), directory.c_str(), IN_DELETE | IN_DELETE_SELF | IN_MOVED_FROM) < 0)
        return errno;
    for (int fd : {listener_.get(), signals_.get(), directory_.get()}) {
        epoll_event event{EPOLLIN, {.fd = fd}};
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) return errno;
    }
    client_left();
    return 0;
}

int Launcher::wait_and_handle() {
    epoll_event events[8];
    int count = ::epoll_wait(epoll_.get(), events, 8, milliseconds_to_deadline());
    if (count < 0) return errno == EINTR ? 0 : errno;
    for (int i = 0; i < count; ++i) {
        int fd = events[i].data.fd;
        if (fd == listener_.get())
            accept_client();
        else if (fd == signals_.get())
            on_signal();
        else if (fd == directory_.get())
            on_directory();
        else if (fd == client_.fd())
            on_client(events[i].events);
    }
    if (Clock::now() >= deadline_) on_deadline();
    return 0;
}

int Launcher::milliseconds_to_deadline() const {
    if (deadline_ == Clock::time_point::max()) return -1;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

bool Launcher::done() const {
    if (ending_ != Ending::no) return !has_children_ || (ending_ == Ending::forced && Clock::now() >= deadline_);
    return is_deserted() && !has_children_ && processes_.empty();
}

bool Launcher::is_deserted() const { return client_gone_ && Clock::now() >= *client_gone_ + idle_grace; }

bool Launcher::is_our_socket() const {
    struct stat now;
    return ::stat(path_.c_str(), &now) == 0 && now.st_ino == socket_file_.st_ino && now.st_dev == socket_file_.st_dev;
}

// Events --------------------------------------------------------------------------------------------------------

void Launcher::accept_client() {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || ending_ != Ending::no) return;
    // What the client before has asked for counts, also when it has gone at once.
    Packet packet;
    while (client_.receive(packet)) handle(packet);
    if (ending_ != Ending::no || !client_.adopt(std::move(socket))) return;
    client_gone_.reset();
    deadline_ = Clock::time_point::max();
    epoll_event event{EPOLLIN, {.fd = client_.fd()}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client_.fd(), &event);
}

void Launcher::client_left() {
    client_gone_ = Clock::now();
    deadline_ = *client_gone_ + std::min<Clock::duration>(client_timeout_.value_or(idle_grace), idle_grace);
}

// A closed socket leaves the epoll set by itself.
void Launcher::watch_client() {
    if (client_.connected()) {
        epoll_event event{EPOLLIN | (client_.wants_to_write() ? EPOLLOUT : 0u), {.fd = client_.fd()}};
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client_.fd(), &event);
    } else if (ending_ == Ending::no && !client_gone_) {
        client_left();
    }
}

void Launcher::on_client(std::uint32_t events) {
    if (events & EPOLLOUT) client_.flush();
    Packet packet;
    // A bound, so that a flood of requests does not keep the ended ones waiting.
    for (int i = 0; i < 64 && client_.receive(packet); ++i) handle(packet);
    watch_client();
}

void Launcher::on_signal() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGTERM) end_all(Ending::asked);
    }
    reap();
    watch_client();
}

void Launcher::on_directory() {
    alignas(inotify_event) char events[4096];
    while (::read(directory_.get(), events, sizeof events) > 0) {}
    if (!is_our_socket()) end_all(Ending::asked);
}

void Launcher::on_deadline() {
    if (ending_ == Ending::asked) return end_all(Ending::forced);
    if (ending_ == Ending::forced || !client_gone_) return;
    drop_unwanted();
    auto limit = client_timeout_ ? *client_gone_ + *client_timeout_ : Clock::time_point::max();
    if (Clock::now() >= limit) return end_all(Ending::asked);
    deadline_ = limit;
}

// Requests ------------------------------------------------------------------------------------------------------

void Launcher::handle(Packet& packet) {
    BodyReader body(packet.body);
    auto entry = processes_.find(packet.id);
    switch (packet.operation) {
    case Operation::hello: return hello();
    case Operation::start: return start(packet);
    case Operation::kill: return kill(packet.id, static_cast<int>(body.u32()));
    case Operation::close_stream:
        if (auto index = body.u32(); entry != processes_.end() && body.ok() && index < entry->second.ours.size())
            entry->second.ours[index].reset();
        return;
    case Operation::set_note:
        if (auto note = body.text(); entry != processes_.end() && body.ok()) entry->second.note = note;
        return;
    case Operation::forget: return forget(packet.id);
    case Operation::list: return list();
    case Operation::terminate: return end_all(Ending::asked);
    default: return; // of a newer client, which knows our version
    }
}

void Launcher::hello() {
    Packet packet;
    packet.operation = Operation::welcome;
    packet.body = BodyWriter().u32(version).u32(static_cast<std::uint32_t>(::getpid())).u64(next_id_).take();
    client_.send(std::move(packet));
}

void Launcher::start(Packet& packet) {
    StartBody body;
    if (!body.decode(packet.body)) return client_.send(Operation::failed, packet.id, EPROTO);
    if (ending_ != Ending::no) return client_.send(Operation::failed, packet.id, ESHUTDOWN);
    if (processes_.contains(packet.id)) return client_.send(Operation::failed, packet.id, EEXIST);

    Process process;
    std::vector<FileDescriptor> childs(body.streams.size());
    std::vector<int> fds;
    auto given = packet.fds.begin();
    for (std::size_t i = 0; i < body.streams.size(); ++i) {
        process.ours.emplace_back();
        if (body.streams[i] == StreamKind::given) {
            if (given == packet.fds.end()) return client_.send(Operation::failed, packet.id, EPROTO);
            childs[i] = std::move(*given++);
        } else if (has_our_end(body.streams[i])) {
            if (int errnum = open_ends(body.streams[i], process.ours[i], childs[i]))
                return client_.send(Operation::failed, packet.id, static_cast<std::uint32_t>(errnum));
        }
        fds.push_back(childs[i].get());
    }

    Command command(std::move(body.argv));
    command.env = std::move(body.env);
    command.cwd = std::move(body.cwd);
    command.fallback_cwd = std::move(body.fallback_cwd);
    command.process_group = command.session = body.flags & process_group;
    rlimit raised{file_limit_.rlim_max, file_limit_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &file_limit_);
    process.start_time = wall_clock_ns();
    process.pid = spawn_process(command, fds);
    ::setrlimit(RLIMIT_NOFILE, &raised);
    if (process.pid < 0) return client_.send(Operation::failed, packet.id, static_cast<std::uint32_t>(-process.pid));

    process.flags = body.flags;
    process.label = std::move(body.label);
    process.note = std::move(body.note);
    process.streams = std::move(body.streams);
    next_id_ = std::max(next_id_, packet.id + 1);
    has_children_ = true;
    running_[process.pid] = packet.id;
    Packet answer;
    answer.operation = Operation::started;
    answer.id = packet.id;
    answer.body = BodyWriter().u32(static_cast<std::uint32_t>(process.pid)).u64(process.start_time).take();
    answer.fds = copies(process.ours);
    processes_.emplace(packet.id, std::move(process));
    client_.send(std::move(answer));
}

void Launcher::kill(std::uint64_t id, int signum) {
    int errnum = ESRCH;
    auto entry = processes_.find(id);
    // The pid of a leader that has ended may be used again once its group is empty.
    if (entry != processes_.end() && (!entry->second.ended || entry->second.group_alive)) {
        const auto& process = entry->second;
        errnum = ::kill(process.leads_group() ? -process.pid : process.pid, signum) < 0 ? errno : 0;
    }
    client_.send(Operation::killed, id, static_cast<std::uint32_t>(errnum));
}

void Launcher::forget(std::uint64_t id) {
    auto entry = processes_.find(id);
    if (entry == processes_.end()) return;
    entry->second.forgotten = true;
    for (auto& fd : entry->second.ours) fd.reset();
    if (entry->second.ended) processes_.erase(entry);
}

void Launcher::list() {
    for (const auto& [id, process] : processes_) {
        ProcessBody body;
        body.flags = process.flags;
        body.pid = static_cast<std::uint32_t>(process.pid);
        body.start_time = process.start_time;
        body.state = process.ended ? ProcessState::ended : ProcessState::running;
        body.status = static_cast<std::uint32_t>(process.status);
        body.label = process.label;
        body.note = process.note;
        for (std::size_t i = 0; i < process.streams.size(); ++i)
            body.streams.push_back(process.ours[i] ? process.streams[i] : StreamKind::null);
        Packet packet;
        packet.operation = Operation::process;
        packet.id = id;
        packet.body = body.encode();
        packet.fds = copies(process.ours);
        client_.send(std::move(packet));
    }
    Packet packet;
    packet.operation = Operation::listed;
    client_.send(std::move(packet));
}

// Processes -----------------------------------------------------------------------------------------------------

void Launcher::reap() {
    for (;;) {
        int status = 0;
        pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid < 0 && errno == EINTR) continue;
        has_children_ = pid >= 0;
        if (pid <= 0) break;
        auto found = running_.find(pid);
        if (found == running_.end()) {
            if (!WIFSTOPPED(status)) look_for_empty_groups();
            continue;
        }
        if (WIFSTOPPED(status))
            client_.send(Operation::stopped, found->second, static_cast<std::uint32_t>(WSTOPSIG(status)));
        else
            on_ended(processes_.find(found->second), status);
    }
    end_orphans();
    drop_unwanted();
    if (ending_ == Ending::forced && has_children_) end_all(Ending::forced);
}

void Launcher::on_ended(std::map<std::uint64_t, Process>::iterator entry, int status) {
    auto& process = entry->second;
    running_.erase(process.pid);
    process.ended = true;
    process.status = status;
    process.group_alive = process.leads_group() && ::kill(-process.pid, 0) == 0;
    if (WIFSIGNALED(status) && process.leads_group()) fallen_sessions_.insert(process.pid);
    client_.send(Operation::exited, entry->first, static_cast<std::uint32_t>(status));
    if (process.forgotten) processes_.erase(entry);
}

// A job shell that was killed cannot end its tasks: they are left to us, and so is in turn what they had started.
void Launcher::end_orphans() {
    if (fallen_sessions_.empty()) return;
    std::set<pid_t> still_there;
    for (pid_t child : children()) {
        auto session = ::getsid(child);
        if (running_.contains(child) || !fallen_sessions_.contains(session)) continue;
        ::kill(child, SIGKILL);
        still_there.insert(session);
    }
    fallen_sessions_ = std::move(still_there);
}

// What is left of a group without its leader ends as a child of ours.
void Launcher::look_for_empty_groups() {
    for (auto& [id, process] : processes_) {
        if (process.group_alive) process.group_alive = ::kill(-process.pid, 0) == 0;
    }
}

// Nobody has come to ask for the status of these, and nobody asked to keep it.
void Launcher::drop_unwanted() {
    if (!is_deserted()) return;
    std::erase_if(processes_,
                  [](const auto& entry) { return entry.second.ended && !(entry.second.flags & keep_status); });
}

void Launcher::end_all(Ending how) {
    if (how == ending_ && how == Ending::asked) return;
    if (how != ending_) deadline_ = Clock::now() + kill_grace;
    ending_ = how;
    int signum = how == Ending::forced ? SIGKILL : SIGTERM;
    for (const auto& [pid, id] : running_) {
        pid_t target = processes_.at(id).leads_group() ? -pid : pid;
        ::kill(target, signum);
        ::kill(target, SIGCONT);
    }
    // Those that left their groups were left to us, or will be when what is killed now has ended.
    for (pid_t child : children()) {
        if (!running_.contains(child)) ::kill(child, signum);
    }
}

} // namespace flux::launcher
