// Writing a job shell plugin: derive from shell::Plugin, end the file with FLUX_SHELL_PLUGIN(Class, "name").
//
// A shell runs the tasks of one job on one node. Its plugins are loaded when the job uses them (an option named like
// the plugin is set, or the plugin belongs to the default set), stay for the life of the shell and are called at the
// points below, in the order in which they were loaded. Everything happens on the thread of the shell's loop. Order of
// events: shell.md 1.3, 2.4.
#pragma once

#include <flux/eventlog.hpp>
#include <flux/handle.hpp>
#include <flux/idset.hpp>
#include <flux/job_id.hpp>
#include <flux/jobspec.hpp>
#include <flux/module.hpp>
#include <flux/taskmap.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::shell {

/// Levels of the shell's log, as they stand in its records. `quiet` as a threshold silences a destination.
enum class Level : int { quiet = -1, fatal = 0, error = 3, warning = 4, notice = 5, debug = 6, trace = 7 };

/// One log message, as in the context of an RFC 24 `log` event.
struct LogRecord {
    Level level;
    std::string_view component; ///< may be empty
    std::string_view message;
    int rank; ///< shell rank, -1 while unknown
};

/// The line of a message in a log file: `flux-shell[0]: ERROR: output: text`.
inline std::string format_log(const LogRecord& record) {
    std::string line = "flux-shell";
    if (record.rank >= 0) line += '[' + std::to_string(record.rank) + ']';
    line += ": ";
    switch (record.level) {
    case Level::notice: break;
    case Level::error: line += "ERROR: "; break;
    case Level::warning: line += " WARN: "; break;
    case Level::debug: line += "DEBUG: "; break;
    case Level::trace: line += "TRACE: "; break;
    default: line += "FATAL: ";
    }
    if (!record.component.empty()) line.append(record.component) += ": ";
    line.append(record.message) += '\n';
    return line;
}

using Environment = std::map<std::string, std::string, std::less<>>;

/// One shell of the job.
struct RankInfo {
    unsigned rank = 0;
    std::uint32_t broker_rank = 0;
    std::string host;
    Idset taskids;
    Idset cores; ///< logical ids
    Idset gpus;
};

/// What the shell knows of its job.
struct JobInfo {
    JobId id;
    std::string f58; ///< the id as people see it, `ƒJe` or `fJe` after the locale
    std::uint32_t userid = 0;
    std::uint32_t owner = 0; ///< of the instance
    unsigned rank = 0;       ///< of this shell
    unsigned size = 1;       ///< number of shells
    std::size_t ntasks = 0;
    std::string service;         ///< under which every shell of the job serves its methods at its broker
    std::string guest_namespace; ///< of the job in the KVS
    JobspecView jobspec{JsonView()};
    JsonView R;
    double expiration = 0; ///< seconds since the epoch, 0: none
    Taskmap taskmap;
    std::vector<RankInfo> ranks; ///< by shell rank

    std::int64_t nslots = 0;
    std::int64_t cores_per_slot = 0;
    std::int64_t gpus_per_slot = 0;
    std::int64_t nnodes = -1; ///< as the jobspec asks for; -1: it names no nodes
    bool node_exclusive = false;

    const RankInfo& self() const { return ranks[rank]; }
};

/// A task of this shell. Made before Plugin::init(), started after the first barrier.
class ShellTask {
public:
    enum class State { init, running, exited };
    /// Output of the task: data as it came (whole lines where the stream is line buffered), then once `eof` with none.
    using OnOutput = std::function<void(ShellTask& task, std::string_view data, bool eof)>;

    virtual unsigned rank() const noexcept = 0;     ///< in the job
    virtual unsigned local_id() const noexcept = 0; ///< in this shell
    virtual State state() const noexcept = 0;
    virtual int pid() const noexcept = 0; ///< -1 before the start
    /// As waitpid() gives it; meaningful once exited.
    virtual int wait_status() const noexcept = 0;
    /// Exit code, or 128 + signal.
    virtual int exit_code() const noexcept = 0;
    /// `{localid, rank, state, pid?, wait_status?, signaled?, exitcode?}`
    virtual Json info() const = 0;

    // Before the start (in task_init()):

    virtual std::vector<std::string>& argv() noexcept = 0;
    /// Variables of this task only, over those of the job.
    virtual Environment& environment() noexcept = 0;
    /// Let the task run on these CPUs only (their numbers as the kernel counts them).
    virtual void bind(const Idset& cpus) = 0;
    /// Give the task this open file as a standard stream; the shell closes its copy after the start.
    virtual void use_file(std::string_view stream, int fd) = 0;
    /// A bidirectional socket besides the standard streams: variable `name` in the task's environment is its number.
    virtual void add_channel(std::string_view name, OnOutput on_output) = 0;
    /// Receive `stdout` or `stderr`. \throws Error EEXIST when somebody else does.
    virtual void on_output(std::string_view stream, bool line_buffered, OnOutput on_output) = 0;

    /// Give the task this terminal as controlling terminal and standard streams. Who opened it reads and writes its
    /// other end; the task has no stdin that can be written to.
    virtual void use_terminal(std::string_view path) = 0;

    // While it runs:

    /// Hand output of the task's terminal to whoever receives `stdout` or `stderr`; nothing: its end.
    virtual void deliver_output(std::string_view stream, std::string_view data) = 0;
    /// Queue data for `stdin` or a channel, all of it or none. \throws Error ENOSPC when the task does not read it,
    /// EPIPE when the stream is closed.
    virtual void write(std::string_view stream, std::string_view data) = 0;
    /// Close after what is queued was taken.
    virtual void close(std::string_view stream) = 0;
    /// Signal the task with all processes of its group; does nothing when it is gone.
    virtual void kill(int signum) noexcept = 0;

protected:
    ~ShellTask() = default;
};

/// The shell as its plugins see it.
class Shell {
public:
    virtual const JobInfo& info() const noexcept = 0;
    unsigned rank() const noexcept { return info().rank; }
    bool leader() const noexcept { return info().rank == 0; }
    /// No broker: the shell was started with a jobspec and R from files.
    virtual bool standalone() const noexcept = 0;
    virtual Handle& handle() noexcept = 0;
    Loop& loop() noexcept { return handle().loop(); }
    /// Background work of plugins goes here.
    virtual Scope& scope() noexcept = 0;

    // Options: `attributes.system.shell.options` of the jobspec. Names are top-level keys.

    /// Nothing when unset.
    virtual JsonView option(std::string_view name) const noexcept = 0;
    virtual void set_option(std::string_view name, Json value) = 0;

    /// What every task starts with: the job's environment. Tasks do not inherit the shell's.
    virtual Environment& environment() noexcept = 0;
    std::optional<std::string> env(std::string_view name) {
        auto found = environment().find(name);
        if (found == environment().end()) return std::nullopt;
        return found->second;
    }
    /// An attribute of the broker that came with the launch (shell_protocol.hpp); nothing when it did not.
    virtual std::optional<std::string> attribute(std::string_view name) const = 0;
    /// For each logical core of this host its CPUs.
    virtual const std::vector<Idset>& core_cpus() = 0;
    /// Bind this shell to CPUs; tasks that are started later inherit that. \throws Error EINVAL
    virtual void bind(const Idset& cpus) = 0;

    /// The tasks of this shell by local id.
    virtual std::vector<ShellTask*> tasks() = 0;
    /// Signal every running task.
    virtual void kill_tasks(int signum) noexcept = 0;
    /// Stop or resume taking output from all tasks.
    virtual void enable_output(bool on) = 0;

    // Templates with tags {{id}}, {{node.name}}, {{task.rank}}, …; unknown tags are left as they are.

    /// \param rank  shell rank that `node` tags mean; at or above size() they are left.
    virtual std::string render(std::string_view text, unsigned rank, ShellTask* task = nullptr) = 0;
    std::string render(std::string_view text, ShellTask* task = nullptr) { return render(text, rank(), task); }
    /// Whether the text differs between shells or tasks.
    virtual bool renders_per_shell(std::string_view text) = 0;

    // Requests from outside.

    /// Serve method `SERVICE.method` for the job's user and the instance owner. It is reachable for all after the first
    /// barrier.
    virtual void serve(std::string_view method, Handle::Handler handler) = 0;

    // Messages between shells: each is delivered once and in order, whatever happens to the brokers between; the shell
    // does not exit before. What is sent before the first barrier leaves after it.

    virtual void send(unsigned rank, std::string_view kind, Json payload) = 0;
    /// Take messages of a kind. The payload is borrowed.
    using Receiver = std::function<void(unsigned from, JsonView payload)>;
    virtual void receive(std::string_view kind, Receiver receiver) = 0;
    /// Number of messages to a shell that it has not taken yet, and a call when they have become `count` or fewer.
    virtual std::size_t unsent(unsigned rank) const noexcept = 0;
    virtual void when_unsent(unsigned rank, std::size_t count, std::function<void()> callback) = 0;
    /// While on, what others send is taken but not confirmed, so that they see it pile up and stop.
    virtual void stall_senders(bool on) = 0;

    // Eventlogs in the job's KVS namespace.

    /// Append an event to a log (shell_protocol.hpp has their keys). All events of a shell are committed in the order
    /// of these calls, as soon as the commit before is done; the shell does not exit before.
    virtual void append_event(std::string_view key, const EventlogEntry& event) = 0;
    /// Bytes of events not yet committed, and a call when they have become few.
    virtual std::size_t uncommitted() const noexcept = 0;
    virtual void when_committed(std::function<void()> callback) = 0;
    /// Add members to the context of a coming `shell.init` or `shell.start` event (on the leader).
    virtual void add_event_context(std::string_view event, JsonView context) = 0;

    /// Keeps the shell from exiting while it lives.
    class Hold {
    public:
        Hold() = default;
        Hold(Hold&& other) noexcept : shell_(std::exchange(other.shell_, nullptr)) {}
        Hold& operator=(Hold&& other) noexcept {
            std::swap(shell_, other.shell_);
            return *this;
        }
        ~Hold() { release(); }
        void release() noexcept {
            if (auto* shell = std::exchange(shell_, nullptr)) shell->unhold();
        }

    private:
        friend class Shell;
        explicit Hold(Shell* shell) noexcept : shell_(shell) {}
        Shell* shell_ = nullptr;
    };
    Hold hold() {
        add_hold();
        return Hold(this);
    }

    // Trouble.

    virtual void log(const LogRecord& record) = 0;
    void log(Level level, std::string_view component, std::string_view message) {
        log(LogRecord{level, component, message, static_cast<int>(rank())});
    }
    /// Drop log messages that are less important than `level` from a destination: `eventlog` or `stderr`.
    virtual void set_log_level(std::string_view destination, Level level) = 0;
    /// Send log messages here instead of to the eventlog.
    virtual void redirect_log(std::function<void(const LogRecord&)> sink) = 0;
    /// Raise a job exception; only the first of a shell counts.
    virtual void raise(std::string_view type, int severity, std::string_view note,
                       std::optional<int> wait_status = {}) = 0;
    /// End the job: log, SIGKILL to the tasks, exception of type `exec` (unless one was raised), exit with `exit_code`.
    /// Returns; the end comes when the caller has returned to the loop.
    virtual void fatal(int exit_code, std::string_view text) = 0;

    /// Learn when R changes, by Plugin::resource_update().
    virtual void follow_resources() = 0;

protected:
    ~Shell() = default;
    virtual void add_hold() = 0;
    virtual void unhold() noexcept = 0;
};

/// A plugin. It is made when the connection stands and the job is known. Where a function says "fatal" an exception
/// that leaves it ends the job, otherwise it is logged.
class Plugin {
public:
    explicit Plugin(Shell& shell) noexcept : shell_(shell) {}
    virtual ~Plugin() = default;
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    /// Map the tasks by a scheme that the shell does not know (option `taskmap`). Nothing: not mine. Fatal.
    virtual std::optional<Taskmap> map_tasks(std::string_view scheme, std::string_view value) {
        return (void)scheme, (void)value, std::nullopt;
    }
    /// Before the first barrier: serve methods, prepare tasks and environment. Fatal.
    virtual Task<> init() { co_return; }
    /// After the first barrier, all shells can be reached. Fatal.
    virtual Task<> post_init() { co_return; }
    /// Before each task is started: may change its arguments, environment, streams. Fatal.
    virtual void task_init(ShellTask& task) { (void)task; }
    /// The task runs its program. Fatal.
    virtual void task_fork(ShellTask& task) { (void)task; }
    /// All tasks of this shell run, before the second barrier. Fatal.
    virtual Task<> start() { co_return; }
    /// The task has ended and its streams too.
    virtual void task_exit(ShellTask& task) { (void)task; }
    /// Leader: the tasks of all shells have ended (those of lost shells count as ended).
    virtual void tasks_complete() {}
    /// The tasks of this shell have ended. What fails is logged, and the plugins after it are not called.
    virtual Task<> finish() { co_return; }
    /// Nothing holds the shell any more; the last words. A failure makes the exit code 1 or more.
    virtual void exit() {}

    /// Leader: a shell was lost; severity 0: a critical one.
    virtual void shell_lost(unsigned shell_rank, int severity) { (void)shell_rank, (void)severity; }
    /// Leader: the critical shell ranks, at first all, before init().
    virtual void critical_ranks(const Idset& ranks) { (void)ranks; }
    /// R has changed, see Shell::info().
    virtual void resource_update() {}
    /// The connection to the broker stands again.
    virtual void reconnect() {}
    /// Value of a template tag that the shell does not know.
    virtual std::optional<std::string> render_tag(std::string_view tag) { return (void)tag, std::nullopt; }
    /// Every log message.
    virtual void log_message(const LogRecord& record) { (void)record; }

protected:
    Shell& shell() const noexcept { return shell_; }

private:
    Shell& shell_;
};

/// What a plugin's `.so` exports. Fields are only ever appended.
struct PluginTable {
    std::uint32_t size;
    std::uint16_t minor;
    const char* abi_tag;
    const char* name;
    Plugin* (*create)(Shell&);
};
inline constexpr std::uint16_t plugin_abi_minor = 0;
inline constexpr const char* plugin_table_symbol = "flux_shell_plugin_table";

/// Export `Class`, a Plugin constructible from Shell&, as shell plugin `plugin_name`.
#define FLUX_SHELL_PLUGIN(Class, plugin_name)                                                                          \
    FLUX_ABI_MARK                                                                                                      \
    extern "C" FLUX_EXPORT const ::flux::shell::PluginTable flux_shell_plugin_table;                                   \
    const ::flux::shell::PluginTable flux_shell_plugin_table = {                                                       \
        sizeof(::flux::shell::PluginTable), ::flux::shell::plugin_abi_minor, FLUX_ABI_TAG, plugin_name,                \
        [](::flux::shell::Shell& shell) -> ::flux::shell::Plugin* { return new Class(shell); }};

} // namespace flux::shell
