// flux start: run a broker here, or N of them with a PMI server of our own (cli.md 6.18, broker.md 10.4).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/start_control.hpp"
#include "pmi/server.hpp"

#include <flux/duration.hpp>
#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/paths.hpp>
#include <flux/pipe.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flux::cmd {
namespace {

class TestInstance {
public:
    struct Settings {
        unsigned size = 1;
        std::vector<std::string> broker; ///< command line of a broker, without the initial program
        std::vector<std::string> command;
        std::optional<Hostlist> hosts;
        std::string rundir;
        bool remove_rundir = false;
        bool leader_decides = false;
        bool leader_only = false; ///< the others are started by request
        double exit_timeout = 20;
        std::string clique = "single";
        int verbose = 0;
    };

    TestInstance(Loop& loop, Settings settings)
        : loop_(loop),
          settings_(std::move(settings)),
          server_({.kvsname = "-", .local_clients = settings_.size, .universe_size = settings_.size}),
          exit_timer_(loop, [this] { kill_stragglers(); }) {
        if (settings_.clique == "single")
            server_.preset("PMI_process_mapping", fmt::format("(vector,(0,1,{}))", settings_.size));
        else if (settings_.clique == "per-broker")
            server_.preset("PMI_process_mapping", fmt::format("(vector,(0,{},1))", settings_.size));
        else if (settings_.clique != "none")
            server_.preset("PMI_process_mapping", settings_.clique);
    }

    /// Say how the broker of each rank is started.
    void show_commands() const {
        for (unsigned rank = 0; rank < settings_.size; ++rank)
            fmt::print(stderr, "flux-start: {}: {}\n", rank, fmt::join(command_of(rank), " "));
    }

    int run() {
        // The terminal's signals reach the initial program; we wait for what comes of them.
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGQUIT, SIG_IGN);
        std::vector<std::unique_ptr<SignalWatcher>> signals;
        for (int signum : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
            signals.push_back(std::make_unique<SignalWatcher>(loop_, signum, [this](int received) {
                if (!brokers_.empty() && brokers_[0].running) ::kill(brokers_[0].pid, received);
            }));
        }
        brokers_.resize(settings_.size);
        StartControl::Brokers control;
        control.size = settings_.size;
        control.pid = [this](unsigned rank) { return brokers_[rank].running ? brokers_[rank].pid : 0; };
        control.run = [this](unsigned rank) { start(rank); };
        control_.emplace(loop_, settings_.rundir + "/start", std::move(control));
        // The leader is needed first.
        for (unsigned rank = 0; rank < (settings_.leader_only ? 1 : settings_.size); ++rank) start(rank);
        loop_.run();
        control_.reset();
        if (settings_.remove_rundir) {
            std::error_code ignored;
            std::filesystem::remove_all(settings_.rundir, ignored);
        }
        return exit_code_;
    }

private:
    struct Broker {
        int pid = 0;
        int pmi_fd = -1;
        bool running = false;
        pmi::LineBuffer input;
        std::unique_ptr<ExitWatcher> exit_watcher;
        std::unique_ptr<FdWatcher> pmi_watcher;
    };

    std::vector<std::string> command_of(unsigned rank) const {
        auto words = settings_.broker;
        words.push_back("--setattr=rundir=" + settings_.rundir);
        if (settings_.hosts) words.push_back("--setattr=hostname=" + settings_.hosts->at(rank));
        if (rank == 0) words.insert(words.end(), settings_.command.begin(), settings_.command.end());
        return words;
    }

    void start(unsigned rank) {
        auto& broker = brokers_[rank];
        int fds[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) throw Error(errno, "socketpair");
        broker.pmi_fd = fds[0];
        broker.input = pmi::LineBuffer();
        auto words = command_of(rank);
        std::vector<char*> argv;
        for (auto& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        auto fd_text = std::to_string(fds[1]), rank_text = std::to_string(rank),
             size_text = std::to_string(settings_.size), control_uri = "local://" + settings_.rundir + "/start";
        int parent = ::getpid();
        broker.pid = ::fork();
        if (broker.pid < 0) throw Error(errno, "fork");
        if (broker.pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) ::_exit(1);
            ::fcntl(fds[1], F_SETFD, 0);
            ::setenv("PMI_FD", fd_text.c_str(), 1);
            ::setenv("PMI_RANK", rank_text.c_str(), 1);
            ::setenv("PMI_SIZE", size_text.c_str(), 1);
            ::setenv("FLUX_START_URI", control_uri.c_str(), 1);
            std::signal(SIGINT, SIG_DFL);
            std::signal(SIGQUIT, SIG_DFL);
            if (rank > 0) {
                ::setpgid(0, 0);
                int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
                ::dup2(null, 0);
            }
            ::execvp(argv[0], argv.data());
            std::perror(argv[0]);
            ::_exit(127);
        }
        ::close(fds[1]);
        broker.running = true;
        ++running_;
        auto ended = [this, rank](int status) { on_exit(rank, status); };
        broker.exit_watcher = std::make_unique<ExitWatcher>(loop_, broker.pid, std::move(ended));
        broker.pmi_watcher = std::make_unique<FdWatcher>(loop_, broker.pmi_fd, [this, rank](int) { on_pmi(rank); });
        broker.pmi_watcher->watch(FdWatcher::readable);
        if (settings_.verbose > 0) fmt::print(stderr, "flux-start: {} (pid {}) started\n", rank, broker.pid);
    }

    void on_pmi(unsigned rank) {
        auto& broker = brokers_[rank];
        char buffer[4096];
        ssize_t n = ::recv(broker.pmi_fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return broker.pmi_watcher.reset();
        try {
            broker.input.append(std::string_view(buffer, static_cast<std::size_t>(n)));
            while (auto line = broker.input.next()) {
                if (settings_.verbose > 1) fmt::print(stderr, "{}: C: {}\n", rank, *line);
                auto outcome = server_.feed(rank, *line);
                for (const auto& reply : outcome.replies) {
                    if (settings_.verbose > 1) fmt::print(stderr, "{}: S: {}", reply.client, reply.bytes);
                    if (::send(brokers_[reply.client].pmi_fd, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL) < 0)
                        continue;
                }
                if (outcome.abort) {
                    fmt::print(stderr, "flux-start: {} (pid {}): PMI abort: {}\n", rank, broker.pid,
                               outcome.abort->text);
                    for (auto& other : brokers_) {
                        if (other.running) ::kill(other.pid, SIGKILL);
                    }
                }
            }
        } catch (const Error& error) {
            fmt::print(stderr, "flux-start: {} (pid {}): {}\n", rank, broker.pid, error.what());
            broker.pmi_watcher.reset();
        }
    }

    void on_exit(unsigned rank, int status) {
        auto& broker = brokers_[rank];
        broker.running = false;
        broker.exit_watcher.reset();
        broker.pmi_watcher.reset();
        ::close(broker.pmi_fd);
        int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (WIFSIGNALED(status))
            fmt::print(stderr, "flux-start: {} (pid {}) {}\n", rank, broker.pid, ::strsignal(WTERMSIG(status)));
        else if (code != 0)
            fmt::print(stderr, "flux-start: {} (pid {}) exited with rc={}\n", rank, broker.pid, code);
        if (settings_.leader_decides ? rank == 0 : code > exit_code_) exit_code_ = code;
        control_->on_exit(rank, code);
        if (--running_ == 0) {
            exit_timer_.stop();
            loop_.stop();
            return;
        }
        if (!exit_timer_.active() && (!settings_.leader_decides || rank == 0))
            exit_timer_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(
                std::chrono::duration<double>(settings_.exit_timeout)));
    }

    void kill_stragglers() {
        Idset killed;
        for (unsigned rank = 0; rank < settings_.size; ++rank) {
            if (!brokers_[rank].running) continue;
            ::kill(brokers_[rank].pid, SIGKILL);
            killed.set(rank);
        }
        fmt::print(stderr, "flux-start: Exit timeout: killed rank {}\n", killed.encode());
    }

    Loop& loop_;
    Settings settings_;
    pmi::Server server_;
    std::optional<StartControl> control_;
    std::vector<Broker> brokers_;
    unsigned running_ = 0;
    int exit_code_ = 0;
    Timer exit_timer_;
};

// Where what is to be recovered lies: a state directory, a dump, or nothing: the system instance.
std::vector<std::string> recovery_options(std::string_view target) {
    std::vector<std::string> words{"--setattr=broker.recovery-mode=1", "--setattr=broker.quorum=1",
                                   "--setattr=broker.module-nopanic=1", "--setattr=log-stderr-level=5"};
    auto path = target.empty() ? std::string("/var/lib/flux") : std::string(target);
    struct stat info {};
    if (::stat(path.c_str(), &info) < 0) throw Error(errno, fmt::format("{}: {}", path, errno_text(errno)));
    if (target.empty()) {
        Loop loop;
        bool runs = true;
        try {
            Handle::open(loop, "local:///run/flux/local");
        } catch (const Error&) {
            runs = false;
        }
        if (runs) throw Error(EBUSY, "the system instance is running: stop it first");
        words.push_back(fmt::format("--config-path={}/flux/system/conf.d", paths::sysconfdir()));
    }
    if (S_ISDIR(info.st_mode)) {
        auto database = path + "/content.sqlite";
        if (::access(database.c_str(), R_OK | W_OK) < 0)
            throw Error(errno, fmt::format("{}: {}", database, errno_text(errno)));
        words.push_back("--setattr=statedir=" + path);
    } else {
        words.push_back("--setattr=content.restore=" + path);
    }
    return words;
}

std::vector<std::string> broker_command(const options::Parsed& parsed) {
    std::vector<std::string> words = parsed.list("wrap");
    words.push_back(paths::libexecdir() + "/flux-broker");
    for (const auto& word : parsed.list("broker-opts")) words.push_back(word);
    for (const auto& setting : parsed.list("setattr")) words.push_back(fmt::format("--setattr={}", setting));
    if (auto path = parsed.find("config-path")) words.push_back(fmt::format("--config-path={}", *path));
    if (parsed.has("sysconfig"))
        words.push_back(fmt::format("--config-path={}/flux/system/conf.d", paths::sysconfdir()));
    for (const auto& spec : parsed.all("conf")) words.push_back(fmt::format("--conf={}", spec));
    if (parsed.has("recovery")) {
        auto more = recovery_options(parsed.get("recovery"));
        words.insert(words.end(), more.begin(), more.end());
    }
    return words;
}

int exec_broker(const options::Parsed& parsed) {
    auto words = broker_command(parsed);
    words.insert(words.end(), parsed.operands().begin(), parsed.operands().end());
    if (parsed.level("verbose") > 0 || parsed.has("noexec"))
        fmt::print(stderr, "flux-start: {}\n", fmt::join(words, " "));
    if (parsed.has("noexec")) return 0;
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    throw Error(errno, fmt::format("{}: {}", argv[0], errno_text(errno)));
}

int run(Context& context, const options::Parsed& parsed) {
    if (!parsed.has("test-size")) {
        for (const auto& given : parsed.given()) {
            if (given.option->name.starts_with("test-"))
                throw parsed.usage_error(fmt::format("--{} can only be used with --test-size", given.option->name));
        }
        return exec_broker(parsed);
    }
    TestInstance::Settings settings;
    settings.size = parsed.number<unsigned>("test-size", 1);
    if (settings.size == 0) throw parsed.usage_error("--test-size argument must be > 0");
    settings.broker = broker_command(parsed);
    settings.command = parsed.operands();
    settings.verbose = static_cast<int>(parsed.level("verbose"));
    settings.exit_timeout = parse_duration(parsed.get("test-exit-timeout", "20s"));
    settings.clique = parsed.get("test-pmi-clique", "single");
    auto mode = parsed.get("test-exit-mode", "any");
    if (mode != "any" && mode != "leader") throw parsed.usage_error("--test-exit-mode must be any or leader");
    settings.leader_decides = mode == "leader";
    auto start_mode = parsed.get("test-start-mode", "all");
    if (start_mode != "all" && start_mode != "leader")
        throw parsed.usage_error("--test-start-mode must be all or leader");
    settings.leader_only = start_mode == "leader";
    if (auto hosts = parsed.find("test-hosts")) {
        settings.hosts = Hostlist::parse(*hosts);
        if (settings.hosts->size() != settings.size) throw parsed.usage_error("--test-hosts hostlist has wrong size");
    }
    if (auto path = parsed.find("test-rundir")) {
        settings.rundir = std::filesystem::absolute(*path);
        struct stat info {};
        if (::stat(settings.rundir.c_str(), &info) < 0 || !S_ISDIR(info.st_mode))
            throw Error(ENOTDIR, fmt::format("--test-rundir {}: not a directory", *path));
        settings.remove_rundir = parsed.has("test-rundir-cleanup");
    } else {
        const char* parent = std::getenv("TMPDIR");
        settings.rundir = fmt::format("{}/flux-XXXXXX", parent ? parent : "/tmp");
        if (!parsed.has("noexec") && !::mkdtemp(settings.rundir.data()))
            throw Error(errno, fmt::format("{}: {}", settings.rundir, errno_text(errno)));
        settings.remove_rundir = true;
    }
    const bool show = settings.verbose > 0 || parsed.has("noexec");
    TestInstance instance(context.loop(), std::move(settings));
    if (show) instance.show_commands();
    return parsed.has("noexec") ? 0 : instance.run();
}

using options::Value;
constexpr options::Option start_options[] = {
    {.name = "setattr", .key = 'S', .value = Value::required, .argument = "ATTR=VAL", .help = "Set broker attribute"},
    {.name = "config-path",
     .key = 'c',
     .value = Value::required,
     .argument = "PATH",
     .help = "Set broker configuration"},
    {.name = "conf", .value = Value::required, .argument = "SPEC", .help = "Add to the broker configuration"},
    {.name = "broker-opts",
     .key = 'o',
     .value = Value::required,
     .argument = "OPTS",
     .help = "Add options to the broker command line"},
    {.name = "recovery",
     .key = 'r',
     .value = Value::optional,
     .argument = "TARGET",
     .help = "Look after a state directory, a dump or (default) the system instance"},
    {.name = "sysconfig", .help = "Use the system configuration"},
    {.name = "verbose",
     .key = 'v',
     .value = Value::optional,
     .argument = "LEVEL",
     .help = "Show commands, and PMI traffic at level 2"},
    {.name = "noexec", .key = 'X', .help = "Show what would be run"},
    {.name = "wrap", .value = Value::required, .argument = "ARGS,...", .help = "Wrap broker execution in a command"},
    {.name = "test-size",
     .key = 's',
     .value = Value::required,
     .argument = "N",
     .help = "Start a test instance of N brokers on this host"},
    {.name = "test-hosts", .value = Value::required, .argument = "HOSTLIST", .help = "Set fake host names"},
    {.name = "test-exit-timeout",
     .value = Value::required,
     .argument = "FSD",
     .help = "Kill remaining brokers this long after one exits"},
    {.name = "test-exit-mode",
     .value = Value::required,
     .argument = "any|leader",
     .help = "Whose exit starts the timer and gives the exit code"},
    {.name = "test-start-mode",
     .value = Value::required,
     .argument = "all|leader",
     .help = "Which brokers are started at once; the others by start.run"},
    {.name = "test-rundir", .value = Value::required, .argument = "PATH", .help = "Use PATH as run directory"},
    {.name = "test-rundir-cleanup", .help = "Remove the run directory at exit"},
    {.name = "test-pmi-clique",
     .value = Value::required,
     .argument = "single|per-broker|none|TASKMAP",
     .help = "Node map given to the brokers"},
};

int run_broker(Context&, const options::Parsed& parsed) {
    std::vector<std::string> words{paths::libexecdir() + "/flux-broker"};
    for (const auto& given : parsed.given())
        words.push_back(fmt::format("--{}{}", given.option->name, given.value ? "=" + *given.value : std::string()));
    words.insert(words.end(), parsed.operands().begin(), parsed.operands().end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    throw Error(errno, fmt::format("{}: {}", argv[0], errno_text(errno)));
}

constexpr options::Option broker_options[] = {
    {.name = "verbose", .key = 'v', .value = Value::optional, .argument = "LEVEL", .help = "Log to stderr"},
    {.name = "setattr", .key = 'S', .value = Value::required, .argument = "ATTR=VAL", .help = "Set broker attribute"},
    {.name = "config-path",
     .key = 'c',
     .value = Value::required,
     .argument = "PATH",
     .help = "Set broker configuration"},
    {.name = "conf", .value = Value::required, .argument = "SPEC", .help = "Add to the broker configuration"},
};

} // namespace

extern const options::Command cmd_start;
extern const options::Command cmd_broker;
const options::Command cmd_start{.name = "start",
                                 .program = "flux-start",
                                 .synopsis = "[OPTIONS] command ...",
                                 .help = "Start a Flux instance",
                                 .options = start_options,
                                 .run = &run};
const options::Command cmd_broker{.name = "broker",
                                  .program = "flux-broker",
                                  .synopsis = "[OPTIONS] [COMMAND [ARGS...]]",
                                  .help = "Run one message broker",
                                  .options = broker_options,
                                  .run = &run_broker};

} // namespace flux::cmd
