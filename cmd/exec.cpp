// flux exec: run a command on many brokers (cli.md 6.25).
#include "cmd/context.hpp"
#include "cmd/follow/event_watch.hpp"
#include "cmd/follow/standard_input.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/select/select.hpp"

#include <flux/idset.hpp>
#include <flux/job_list_protocol.hpp>
#include <flux/job_state.hpp>
#include <flux/parse_integer.hpp>
#include <flux/rexec.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace flux::cmd {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// More input than this is not read while a process has not taken what it got.
constexpr std::size_t input_limit = 1024 * 1024;
/// Three interrupts within this time end the command whatever its processes do.
constexpr auto impatience = 1s;

class Plan {
public:
    Plan() {}
    Idset targets;
    std::vector<std::uint32_t> nodes; ///< of a job: its brokers, which `targets` are indices of
    std::string service{rexec_protocol::default_service};
    RemoteCommand command;
    std::string attach; ///< pid or label of a process to attach to
    int flags = rexec_protocol::forward_stdout | rexec_protocol::forward_stderr | rexec_protocol::write_credit;
    bool waitable = false;
    bool label_io = false;
    bool no_input = false;
    bool quiet = false;
    bool imp = false; ///< signals go through the IMP
    unsigned verbose = 0;

    rexec::Server server(std::uint32_t target) const {
        return rexec::Server().rank(nodes.empty() ? target : nodes[target]).service(service);
    }
    std::string what() const { return attach.empty() ? command.name() : attach; }
};

int code_of(const Error& error) {
    switch (error.errnum()) {
    case EPERM:
    case EACCES: return options::exit_code::not_executable;
    case ENOENT: return options::exit_code::command_not_found;
    case EHOSTUNREACH: return options::exit_code::unreachable;
    default: return options::exit_code::failure;
    }
}

/// What has become of the processes.
class Results {
public:
    void failed(const Plan& plan, std::uint32_t rank, const Error& error) {
        fmt::print(stderr, "flux-exec: Error: rank {}: {}: {}\n", rank, plan.what(), error.what());
        code_ = std::max(code_, code_of(error));
    }
    void ended(std::uint32_t rank, int status) {
        if (status == 0) return;
        bool killed = WIFSIGNALED(status);
        code_ = std::max(code_, killed ? options::exit_code::signal_base + WTERMSIG(status) : WEXITSTATUS(status));
        auto text = killed ? std::string(::strsignal(WTERMSIG(status))) : fmt::format("Exit {}", WEXITSTATUS(status));
        unusual_[text].set(rank);
    }
    void print_summary() const {
        for (const auto& [text, ranks] : unusual_) fmt::print(stderr, "{}: {}\n", ranks.encode_with_brackets(), text);
    }
    int code() const noexcept { return code_; }

private:
    int code_ = 0;
    std::map<std::string, Idset> unusual_;
};

/// The processes in the foreground.
class Crowd {
public:
    Crowd(Context& context, const Plan& plan) : context_(context), plan_(plan) {}

    void start() {
        for (auto rank : plan_.targets) {
            ++active_;
            auto server = plan_.server(rank);
            if (plan_.attach.empty()) {
                processes_[rank] = std::make_unique<rexec::Process>(context_.handle(), server, plan_.command,
                                                                    events_of(rank), plan_.flags);
                continue;
            }
            rexec::ProcessName name(plan_.attach);
            if (auto pid = parse_integer<pid_t>(plan_.attach)) name = rexec::ProcessName(*pid);
            processes_[rank] = std::make_unique<rexec::Process>(context_.handle(), server, name, events_of(rank));
        }
        trace("sent {} requests", active_);
    }

    void signal(int signum) {
        if (plan_.imp && signum == SIGKILL) signum = SIGUSR1;
        for (auto& [rank, process] : processes_) process->kill(signum);
    }
    /// Leave the processes that were attached to alone.
    void let_go() {
        processes_.clear();
        active_ = 0;
        changed_.notify_all();
    }

    Task<> ended() {
        while (active_ > 0) co_await changed_.wait();
    }

    static Task<> feed(Crowd* self) {
        if (!self->plan_.no_input) {
            follow::StandardInput input(self->context_.loop());
            for (;;) {
                auto bytes = co_await input.read();
                if (bytes.empty()) break;
                for (auto& [rank, process] : self->processes_) process->write("stdin", bytes);
                while (self->clogged()) co_await self->changed_.wait();
            }
        }
        for (auto& [rank, process] : self->processes_) process->close("stdin");
    }

    const Results& results() const noexcept { return results_; }

private:
    rexec::ProcessEvents events_of(std::uint32_t rank) {
        rexec::ProcessEvents events;
        events.on_started = [this, rank](pid_t pid) { trace("{}: started as {}", rank, pid); };
        events.on_output = [this, rank](const std::string& stream, std::string_view data) {
            print(rank, stream == "stderr" ? stderr : stdout, data);
        };
        events.on_written = [this](const std::string&) { changed_.notify_all(); };
        events.on_finished = [this, rank](int status) { results_.ended(rank, status); };
        events.on_end = [this, rank](const std::optional<Error>& failure) {
            if (failure) results_.failed(plan_, rank, *failure);
            trace("{}: ended", rank);
            processes_.erase(rank);
            --active_;
            changed_.notify_all();
        };
        return events;
    }

    bool clogged() const {
        return std::any_of(processes_.begin(), processes_.end(),
                           [](const auto& entry) { return entry.second->queued("stdin") > input_limit; });
    }

    void print(std::uint32_t rank, FILE* out, std::string_view data) {
        while (!data.empty()) {
            auto line = plan_.label_io ? data.substr(0, data.find('\n')) : data;
            if (plan_.label_io && line.size() < data.size()) line = data.substr(0, line.size() + 1);
            if (plan_.label_io) fmt::print(out, "{}: ", rank);
            std::fwrite(line.data(), 1, line.size(), out);
            data.remove_prefix(line.size());
        }
        if (std::exchange(flush_posted_, true)) return;
        context_.loop().post([this] {
            flush_posted_ = false;
            std::fflush(stdout);
        });
    }

    template <class... A> void trace(fmt::format_string<A...> format, A&&... arguments) const {
        if (plan_.verbose == 0) return;
        auto time = std::chrono::duration<double>(Clock::now() - begin_).count();
        fmt::print(stderr, "{:.3f}s: {}\n", time, fmt::format(format, std::forward<A>(arguments)...));
    }

    Context& context_;
    const Plan& plan_;
    Results results_;
    std::map<std::uint32_t, std::unique_ptr<rexec::Process>> processes_;
    std::size_t active_ = 0;
    Condition changed_;
    bool flush_posted_ = false;
    Clock::time_point begin_ = Clock::now();
};

/// SIGINT and SIGTERM go to the processes; when attached, SIGINT leaves them.
class Signals {
public:
    Signals(Loop& loop, Crowd& crowd, bool attached)
        : crowd_(crowd),
          attached_(attached),
          interrupt_(loop, SIGINT, [this](int) { interrupted(); }),
          terminate_(loop, SIGTERM, [this](int) { crowd_.signal(SIGTERM); }) {}

private:
    void interrupted() {
        if (attached_) return crowd_.let_go();
        auto now = Clock::now();
        if (now - since_ > impatience) since_ = now, count_ = 0;
        if (++count_ == 3) ::_exit(options::exit_code::failure);
        crowd_.signal(SIGINT);
    }

    Crowd& crowd_;
    bool attached_;
    unsigned count_ = 0;
    Clock::time_point since_{};
    SignalWatcher interrupt_;
    SignalWatcher terminate_;
};

Task<int> run_in_foreground(Context* context, const Plan* plan) {
    Crowd crowd(*context, *plan);
    Scope feeding(context->scope());
    crowd.start();
    Signals signals(context->loop(), crowd, !plan->attach.empty());
    if (plan->attach.empty()) feeding.spawn("stdin", &Crowd::feed, &crowd);
    co_await crowd.ended();
    co_await feeding.close();
    std::fflush(stdout);
    if (!plan->quiet) crowd.results().print_summary();
    co_return crowd.results().code();
}

Task<int> run_in_background(Handle* handle, const Plan* plan) {
    std::vector<std::pair<std::uint32_t, Reply<pid_t>>> replies;
    for (auto rank : plan->targets)
        replies.emplace_back(rank, rexec::start(*handle, plan->server(rank), plan->command, plan->waitable));
    Results results;
    for (auto& [rank, reply] : replies) {
        try {
            auto pid = co_await reply;
            if (!plan->quiet) fmt::print("{}: {}\n", rank, pid);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            results.failed(*plan, rank, error);
        }
    }
    co_return results.code();
}

/// The nodes of a job and the service of its shells.
Task<> find_job(Handle* handle, JobId id, Plan* plan) {
    auto request = Json::object("id", id, "attrs", Json::array_of("ranks", "state"));
    auto answer = co_await handle->call(job_list_protocol::list_id.topic, std::move(request));
    auto job = answer.json().get<JsonView>("job");
    if (job.get<int>("state") != static_cast<int>(JobState::run))
        throw Error(EINVAL, fmt::format("job {} is not running", id.f58()));
    for (auto rank : Idset::parse(job.get<std::string_view>("ranks"))) plan->nodes.push_back(rank);
    follow::EventWatch watch(*handle, id, follow::exec_log, follow::wait_create);
    while (auto item = co_await watch.next()) {
        if (item->event().name != "shell.init") continue;
        plan->service = item->event().context.get<std::string>("service") + ".rexec";
        co_return;
    }
    throw Error(ENOENT, fmt::format("job {} has no shells", id.f58()));
}

Task<int> find_targets(Handle* handle, const options::Parsed* parsed, std::optional<JobId> job, Plan* plan) {
    auto* targets = &plan->targets;
    auto text = co_await handle->get_attr("size");
    if (job) {
        try {
            co_await find_job(handle, *job, plan);
        } catch (const Error& error) {
            throw error.while_doing("--jobid");
        }
    }
    auto count = plan->nodes.empty() ? std::stoul(text.value_or("1")) : plan->nodes.size();
    auto all = Idset::below(static_cast<Idset::Id>(count));
    *targets = all;
    if (auto given = parsed->find("rank"); given && *given != "all") {
        *targets = Idset::parse(*given);
        if (!all.includes(*targets))
            throw Error(EINVAL, fmt::format("One or more invalid --ranks specified: {}", *given));
    }
    if (auto excluded = parsed->find("exclude")) *targets -= Idset::parse(*excluded);
    if (targets->empty()) throw Error(EINVAL, "No targets specified");
    co_return 0;
}

/// The bus of the user that runs the brokers, which is where systemd starts their processes.
Task<int> set_bus(Handle* handle, Command* command) {
    if (command->getenv("DBUS_SESSION_BUS_ADDRESS").data()) co_return 0;
    auto owner = co_await handle->get_attr("security.owner");
    if (owner) command->setenv("DBUS_SESSION_BUS_ADDRESS", fmt::format("unix:path=/run/user/{}/bus", *owner));
    co_return 0;
}

Task<int> prefix_imp(Handle* handle, Command* command) {
    auto config = co_await handle->call("config.get");
    auto imp = config.json().find("exec.imp").try_as<std::string>();
    if (!imp) throw Error(ENOENT, "exec.imp path not found in config");
    std::vector<std::string> words{*imp, "run"};
    command->argv.insert(command->argv.begin(), words.begin(), words.end());
    co_return 0;
}

std::string directory(const options::Parsed& parsed) {
    auto given = parsed.find("dir");
    if (given && *given == "none") return {};
    if (given) return std::string(*given);
    char path[PATH_MAX];
    if (!::getcwd(path, sizeof path)) throw Error(errno, "cannot find the working directory");
    return path;
}

void set_options(const options::Parsed& parsed, RemoteCommand& command) {
    for (auto option : parsed.all("setopt")) {
        auto equals = option.find('=');
        if (equals == std::string_view::npos) throw parsed.usage_error("--setopt: NAME=VALUE expected");
        command.options[std::string(option.substr(0, equals))] = option.substr(equals + 1);
    }
}

int run(Context& context, const options::Parsed& parsed) {
    Plan plan;
    plan.attach = parsed.get("attach");
    if (parsed.operands().empty() == plan.attach.empty()) throw parsed.usage_error();
    if (parsed.has("waitable") && !parsed.has("bg")) throw parsed.usage_error("--waitable can only be used with --bg");
    plan.service = parsed.get("service", rexec_protocol::default_service);
    plan.command = RemoteCommand(parsed.operands());
    auto& command = plan.command.command;
    command.env = current_environment();
    command.unsetenv("FLUX_PROXY_REMOTE");
    command.cwd = directory(parsed);
    plan.command.label = parsed.get("label");
    set_options(parsed, plan.command);
    plan.waitable = parsed.has("waitable");
    plan.label_io = parsed.has("label-io");
    plan.no_input = parsed.has("noinput");
    plan.quiet = parsed.has("quiet");
    plan.imp = parsed.has("with-imp");
    plan.verbose = parsed.count("verbose");
    if (parsed.get("stdin-flow", "on") == "off") plan.flags &= ~rexec_protocol::write_credit;

    std::optional<JobId> job;
    if (auto id = parsed.find("jobid")) job = select::job_id(parsed, *id);
    context.run(&find_targets, &context.handle(), &parsed, job, &plan);
    if (parse_integer<pid_t>(plan.attach) && plan.targets.count() != 1)
        throw Error(EINVAL, "--attach to a pid requires one rank");
    if (plan.attach.empty()) context.run(&set_bus, &context.handle(), &command);
    if (plan.imp) context.run(&prefix_imp, &context.handle(), &command);
    if (parsed.has("bg")) return context.run(&run_in_background, &context.handle(), &plan);
    return context.run(&run_in_foreground, &context, &plan);
}

using options::Value;
constexpr options::Option exec_options[] = {
    {.name = "rank",
     .key = 'r',
     .value = Value::required,
     .argument = "IDSET",
     .help = "Specify target ranks. Default is \"all\""},
    {.name = "exclude", .key = 'x', .value = Value::required, .argument = "IDSET", .help = "Exclude ranks from target"},
    {.name = "jobid",
     .key = 'j',
     .value = Value::required,
     .argument = "JOBID",
     .help = "Run on the nodes of a job: ranks are then indices of these"},
    {.name = "dir",
     .key = 'd',
     .value = Value::required,
     .argument = "PATH",
     .help = "Set the working directory to PATH, \"none\" to use that of the broker"},
    {.name = "label-io", .key = 'l', .help = "Label lines of output with the source RANK"},
    {.name = "noinput", .key = 'n', .help = "Redirect stdin from /dev/null"},
    {.name = "bg", .help = "Run in the background and print the pids"},
    {.name = "waitable", .help = "Keep the status until it is waited for (with --bg)"},
    {.name = "label", .value = Value::required, .argument = "LABEL", .help = "Name the processes"},
    {.name = "attach", .value = Value::required, .argument = "PID|LABEL", .help = "Attach to a process"},
    {.name = "verbose", .key = 'v', .help = "Run with more verbosity"},
    {.name = "quiet", .key = 'q', .help = "Suppress extraneous output"},
    {.name = "with-imp", .help = "Prepend the IMP of the configuration to COMMAND"},
    {.name = "service", .value = Value::required, .argument = "NAME", .help = "Use another service", .hidden = true},
    {.name = "setopt", .value = Value::required, .argument = "NAME=VALUE", .help = "Set an option", .hidden = true},
    {.name = "stdin-flow", .value = Value::required, .argument = "on|off", .help = "Flow control", .hidden = true},
};
static_assert(options::consistent(exec_options));

} // namespace

extern const options::Command cmd_exec;
const options::Command cmd_exec{.name = "exec",
                                .program = "flux-exec",
                                .synopsis = "[OPTIONS] COMMAND...",
                                .help = "Execute processes across flux ranks",
                                .options = exec_options,
                                .run = &run};

} // namespace flux::cmd
