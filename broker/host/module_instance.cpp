#include "broker/host/module_instance.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char** environ;

namespace flux::broker {
namespace {

// Sent by the module's thread as its very last act: nothing of the module runs after it.
constexpr std::uint32_t control_thread_ended = 0xE0;

} // namespace

ModuleInstance::ModuleInstance(Loop& loop, std::string uuid, std::function<void(Message, ModuleInstance&)> on_message)
    : Endpoint(std::move(uuid), Kind::local), loop_(loop), on_message_(std::move(on_message)) {}

ModuleInstance::~ModuleInstance() {
    // A thread that hangs was reported when it did; it keeps its code and its channel.
    if (thread_.joinable()) {
        thread_.detach();
        (void)library_.release();
    }
}

void ModuleInstance::start_thread(std::unique_ptr<Library> library) {
    library_ = std::move(library);
    channel_ = std::make_shared<Channel>();
    transport_ = std::make_unique<ChannelTransport>(loop_, channel_, ChannelTransport::Side::broker);
    transport_->start([this](Message message) { receive(std::move(message)); }, {});
    // The thread may outlive this object when it hangs, so it owns what it touches.
    auto exit = std::make_shared<ModuleExit>();
    auto run = [table = &library_->table<ModuleTable>(), channel = channel_, exit] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        ::pthread_setname_np(::pthread_self(), std::string(table->name).substr(0, 15).c_str());
        *exit = run_module(*table, [channel](Loop& loop) {
            return std::make_unique<ChannelTransport>(loop, channel, ChannelTransport::Side::module);
        });
        auto last = Message::control(control_thread_ended, 0);
        last.topic = exit->open_handles;
        channel->put(ChannelTransport::Side::broker, std::move(last));
    };
    try {
        thread_ = std::thread(std::move(run));
    } catch (const std::system_error& error) {
        throw Error(error.code().value(), "cannot start a thread: " + errno_text(error.code().value()));
    }
    gone_ = false;
}

void ModuleInstance::start_process(const std::string& program, const std::string& path) {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) throw Error(errno, "socketpair");
    FileDescriptor childs_end(fds[1]);
    transport_ = std::make_unique<SocketTransport>(loop_, fds[0]);
    char accepted = 0; // the handshake byte of whoever makes the pair
    if (::write(fds[0], &accepted, 1) != 1) throw Error(errno, "socketpair");

    constexpr int child_fd = 3;
    auto uri = fmt::format("FLUX_MODULE_URI=fd://{}", child_fd);
    std::vector<char*> environment;
    for (char** variable = environ; *variable; ++variable) {
        if (std::string_view(*variable).starts_with("FLUX_MODULE_URI=")) continue;
        environment.push_back(*variable);
    }
    environment.push_back(uri.data());
    environment.push_back(nullptr);
    std::vector<std::string> command{program, path};
    std::vector<char*> argv;
    for (auto& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, childs_end.get(), child_fd);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int rc = ::posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    childs_end.reset();
    if (rc != 0) {
        pid_ = 0;
        throw Error(rc, fmt::format("{}: {}", program, errno_text(rc)));
    }
    exit_watcher_ = std::make_unique<ExitWatcher>(loop_, pid_, [this](int status) { process_ended(status); });
    gone_ = false;
    transport_->start([this](Message message) { receive(std::move(message)); },
                      [](const Error&) {
                          // Its death tells more; a module that only closed its connection is about to exit.
                      });
}

void ModuleInstance::deliver(Message message) {
    if (!transport_ || gone_) return;
    if (requests_closed_ && message.type != MessageType::response) return;
    if (message.type == MessageType::request) pending_.sent(message);
    transport_->send(std::move(message));
}

void ModuleInstance::receive(Message message) {
    last_message_ = std::chrono::steady_clock::now();
    if (message.type == MessageType::control && message.aux1 == control_thread_ended) {
        exit_.open_handles = message.topic;
        // What it said before its end is still on its way to the host.
        loop_.post([this] { thread_ended(); });
        return;
    }
    if (message.type == MessageType::response) pending_.answered(message);
    on_message_(std::move(message), *this);
}

void ModuleInstance::thread_ended() {
    thread_.join();
    gone_ = true;
    changed.notify_all();
}

void ModuleInstance::process_ended(int wait_status) {
    exit_watcher_.reset();
    gone_ = true;
    if (status != ModuleStatus::exited) {
        errnum = ECONNRESET;
        if (WIFSIGNALED(wait_status))
            text = fmt::format("killed by signal {}", WTERMSIG(wait_status));
        else
            text = fmt::format("loader exited with exit code {}", WEXITSTATUS(wait_status));
        status = ModuleStatus::exited;
    }
    changed.notify_all();
    if (auto lost = std::exchange(on_lost, nullptr)) lost();
}

void ModuleInstance::kill() noexcept {
    if (pid_ > 0 && !gone_) ::kill(pid_, SIGKILL);
}

std::unique_ptr<Library> ModuleInstance::take_library() {
    if (!gone_) return nullptr;
    return std::move(library_);
}

} // namespace flux::broker
