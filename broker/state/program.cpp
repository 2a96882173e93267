#include "broker/state/program.hpp"

#include <flux/pipe.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char** environ;

namespace flux::broker {

struct Program::State {
    explicit State(Loop& loop) : loop(loop) {}
    Loop& loop;
    Options options;
    int pid = 0;
    FileDescriptor pipes[2];
    std::string partial[2];
    std::unique_ptr<ExitWatcher> exit_watcher;
    std::unique_ptr<FdWatcher> readers[2];
    bool exited = false;
    int wait_status = 0;
    bool took_terminal = false;
    termios terminal{};
    Condition changed;

    void read(int stream) {
        char buffer[4096];
        ssize_t n = ::read(pipes[stream].get(), buffer, sizeof buffer);
        if (n < 0 && errno == EAGAIN) return;
        auto& text = partial[stream];
        if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
        for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            options.on_output(stream == 1, text.substr(0, end));
            text.erase(0, end + 1);
        }
        if (n > 0) return;
        if (!text.empty()) options.on_output(stream == 1, std::exchange(text, {}));
        readers[stream].reset();
        changed.notify_all();
    }
};

Program::Program(Loop& loop, Options options) : state_(std::make_unique<State>(loop)) {
    auto& state = *state_;
    state.options = std::move(options);
    auto& argv_text = state.options.argv;
    std::vector<char*> argv, environment;
    for (auto& word : argv_text) argv.push_back(word.data());
    argv.push_back(nullptr);
    for (auto& variable : state.options.environment) environment.push_back(variable.data());
    environment.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    FileDescriptor write_ends[2];
    if (!state.options.foreground) {
        ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        for (int stream : {0, 1}) {
            int fds[2];
            if (::pipe2(fds, O_CLOEXEC) < 0) throw Error(errno, "pipe");
            state.pipes[stream].reset(fds[0]);
            write_ends[stream].reset(fds[1]);
            ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
            ::posix_spawn_file_actions_adddup2(&actions, fds[1], 1 + stream);
        }
    }
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (state.options.own_group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        ::posix_spawnattr_setpgroup(&attributes, 0);
    }
    ::posix_spawnattr_setflags(&attributes, flags);
    int rc = ::posix_spawnp(&state.pid, argv[0], &actions, &attributes, argv.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    for (auto& end : write_ends) end.reset();
    if (rc != 0) throw Error(rc, fmt::format("{}: {}", argv_text[0], errno_text(rc)));
    if (state.options.foreground && state.options.own_group && ::isatty(0)) {
        ::tcgetattr(0, &state.terminal);
        state.took_terminal = ::tcsetpgrp(0, state.pid) == 0;
    }
    state.exit_watcher = std::make_unique<ExitWatcher>(loop, state.pid, [state = state_.get()](int status) {
        state->wait_status = status;
        state->exited = true;
        state->exit_watcher.reset();
        if (state->took_terminal) {
            ::signal(SIGTTOU, SIG_IGN);
            ::tcsetpgrp(0, ::getpgrp());
            ::tcsetattr(0, TCSADRAIN, &state->terminal);
        }
        state->changed.notify_all();
    });
    for (int stream : {0, 1}) {
        if (!state.pipes[stream]) continue;
        state.readers[stream] = std::make_unique<FdWatcher>(
            loop, state.pipes[stream].get(), [state = state_.get(), stream](int) { state->read(stream); });
        state.readers[stream]->watch(FdWatcher::readable);
    }
}

Program::~Program() = default;

Task<int> Program::wait() {
    auto& state = *state_;
    while (!state.exited) co_await state.changed.wait();
    // What it wrote before its end is in the pipes; what its children keep open is not waited for.
    for (int stream : {0, 1}) {
        if (state.readers[stream]) state.read(stream);
    }
    if (WIFSIGNALED(state.wait_status)) co_return 128 + WTERMSIG(state.wait_status);
    co_return WEXITSTATUS(state.wait_status);
}

void Program::kill(int signum) noexcept {
    if (state_->exited) return;
    if (state_->options.own_group) ::kill(-state_->pid, signum);
    ::kill(state_->pid, signum);
    ::kill(state_->options.own_group ? -state_->pid : state_->pid, SIGCONT);
}

int Program::pid() const noexcept { return state_->pid; }

std::vector<std::string> program_environment(const std::string& local_uri, const std::string& jobid) {
    constexpr std::string_view dropped[] = {
        "FLUX_JOB_ID",           "FLUX_ENCLOSING_ID",  "FLUX_JOB_SIZE", "FLUX_JOB_NNODES",    "FLUX_JOB_TMPDIR",
        "FLUX_TASK_RANK",        "FLUX_TASK_LOCAL_ID", "FLUX_URI",      "FLUX_KVS_NAMESPACE", "FLUX_PROXY_REMOTE",
        "FLUX_PMI_LIBRARY_PATH", "I_MPI_PMI_LIBRARY",  "NOTIFY_SOCKET"};
    constexpr std::string_view dropped_prefixes[] = {"PMI_", "PMIX_", "SLURM_", "PALS_"};
    std::vector<std::string> result;
    for (char** variable = environ; *variable; ++variable) {
        std::string_view text(*variable);
        auto name = text.substr(0, text.find('='));
        if (std::find(std::begin(dropped), std::end(dropped), name) != std::end(dropped)) continue;
        if (std::any_of(std::begin(dropped_prefixes), std::end(dropped_prefixes),
                        [&](std::string_view prefix) { return name.starts_with(prefix); }))
            continue;
        result.emplace_back(text);
    }
    result.push_back("FLUX_URI=" + local_uri);
    if (!jobid.empty()) result.push_back("FLUX_ENCLOSING_ID=" + jobid);
    return result;
}

} // namespace flux::broker
