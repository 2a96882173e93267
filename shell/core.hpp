// The shell itself: from the launch to the exit code (shell.md 1.3). Owns the connection, the tasks, the plugins and
// the events that are on their way to the KVS; nothing here is durable. Runs on the loop of the process.
//
// A job ends early in two ways: fatal() tells the world why, quit() leaves without a word, when the exec service has
// spoken already. Both abort what is under way and let run() go on to the end.
#pragma once

#include "journal.hpp"
#include "launch.hpp"
#include "links.hpp"
#include "proctable.hpp"
#include "render.hpp"
#include "task.hpp"

#include <flux/initializer_watch.hpp>
#include <flux/rexec_server.hpp>
#include <flux/shell.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::shell {

class Core final : public Shell, private Links::Host {
public:
    /// \param handle  a connection, or in standalone mode a handle whose messages come back to itself.
    Core(Loop& loop, std::unique_ptr<Handle> handle, Launch launch);
    ~Core();

    /// Run the job, blocking. \return the exit code.
    int run();

    const JobInfo& info() const noexcept override { return job_; }
    bool standalone() const noexcept override { return launch_.standalone; }
    Handle& handle() noexcept override { return *handle_; }
    Scope& scope() noexcept override { return work_; }

    JsonView option(std::string_view name) const noexcept override { return options_[name]; }
    void set_option(std::string_view name, Json value) override { options_.set(name, std::move(value)); }
    Environment& environment() noexcept override { return environment_; }
    std::optional<std::string> attribute(std::string_view name) const override { return launch_.attribute(name); }
    const std::vector<Idset>& core_cpus() override;
    void bind(const Idset& cpus) override;

    std::vector<ShellTask*> tasks() override;
    void kill_tasks(int signum) noexcept override;
    void enable_output(bool on) override;

    std::string render(std::string_view text, unsigned rank, ShellTask* task) override;
    bool renders_per_shell(std::string_view text) override;

    void serve(std::string_view method, Handle::Handler handler) override;
    void send(unsigned rank, std::string_view kind, Json payload) override;
    void receive(std::string_view kind, Receiver receiver) override;
    std::size_t unsent(unsigned rank) const noexcept override { return links_.unsent(rank); }
    void when_unsent(unsigned rank, std::size_t count, std::function<void()> callback) override {
        links_.when_unsent(rank, count, std::move(callback));
    }
    void stall_senders(bool on) override { links_.stall(on); }

    void append_event(std::string_view key, const EventlogEntry& event) override { journal_.append(key, event); }
    std::size_t uncommitted() const noexcept override { return journal_.bytes(); }
    void when_committed(std::function<void()> callback) override { journal_.when_low(std::move(callback)); }
    void add_event_context(std::string_view event, JsonView context) override;

    using Shell::log;
    void log(const LogRecord& record) override;
    void set_log_level(std::string_view destination, Level level) override;
    void redirect_log(std::function<void(const LogRecord&)> sink) override { log_sink_ = std::move(sink); }
    void raise(std::string_view type, int severity, std::string_view note, std::optional<int> wait_status) override;
    void fatal(int exit_code, std::string_view text) override;
    void follow_resources() override;

private:
    // core.cpp: the course of the job
    static Task<int> main(Core* self);
    static Task<> job(Core* self);
    Task<> prepare();
    Task<> start_tasks();
    Task<> wait_for_holds();
    Task<> conclude();
    Task<> barrier(int sequence);
    void start_task(LocalTask& task);
    void task_completed(LocalTask& task);
    void quit(int exit_code);
    void post_event(std::string_view name, Json context);
    void add_hold() override { ++holds_; }
    void unhold() noexcept override;

    struct LoadedPlugin {
        std::string name;
        Plugin* plugin;   // never deleted: its code stays, and so may what it still has to do
        std::string file; // of somebody else's
    };

    // core_plugins.cpp: loading and calling
    void load_plugins();
    /// Do not run a job without something that it asks for.
    void check_options();
    void apply_taskmap();
    /// False when one has failed, which is logged.
    bool each_plugin(const char* what, const std::function<void(Plugin&)>& call) noexcept;
    /// \throws Error naming the plugin that failed.
    Task<> each_plugin(Task<> (Plugin::*point)());
    Task<> call_point(const LoadedPlugin* loaded, Task<> (Plugin::*point)());
    void watch_initializer(std::optional<InitializerWatch>& watch, const std::string& file);
    Task<> init_plugins();
    void each_plugin(void (Plugin::*point)(ShellTask&), ShellTask& task);

    // core_environment.cpp: what the tasks find
    void enter_directory();
    void make_environment();
    void make_tmpdir();
    void remove_tmpdir() noexcept;

    // core_services.cpp: what others ask of this shell
    Task<> offer_services();
    bool may_call(const Request& request) const noexcept;
    void serve_exception(const Request& request);
    void serve_critical_ranks(const Request& request);
    void shell_tasks_complete(unsigned shell_rank);
    static Task<> watch_resources(Core* self);
    Task<> take_resources();

    // core_rexec.cpp: processes beside the tasks
    void offer_rexec();
    Task<> end_rexec();

    // core_connection.cpp: the broker may go and come back
    void connected();
    static Task<> reconnect(Core* self);
    Task<> connect_again();
    bool instance_gone() const;
    Task<Message> ask(std::string topic, Payload payload, CallOptions options);
    static Task<> send_exception(Core* self, Payload payload);
    Task<> deliver(unsigned rank, Payload payload) override;
    void link_error(unsigned rank, const Error& error) override;
    Scope& link_scope() noexcept override { return work_; }
    void link_busy(bool busy) override;

    // core_log.cpp
    void log_to_stderr(const LogRecord& record);
    void log_to_eventlog(const LogRecord& record);

    struct Served {
        std::string topic;
        Handle::Handler handler;
    };

    Loop& loop_;
    std::unique_ptr<Handle> handle_;
    Launch launch_;
    JobInfo job_;
    JsonRef options_;
    Environment environment_;
    std::string tmpdir_;
    std::vector<Idset> core_cpus_;

    std::vector<LoadedPlugin> plugins_;
    std::vector<std::unique_ptr<LocalTask>> tasks_;
    std::size_t running_tasks_ = 0;
    bool started_ = false; // all tasks of the job run
    std::vector<LocalTask*> early_exits_;
    bool process_groups_ = true; // each task leads one
    int pending_signal_ = 0;     // came before the tasks
    std::vector<Served> served_;
    Idset incomplete_shells_; // leader: those whose tasks have not ended
    Json event_context_ = Json::object();

    Journal journal_;
    Links links_;
    bool online_ = true; // the connection stands
    Level stderr_level_ = Level::notice;
    Level eventlog_level_ = Level::notice;
    bool logging_ = false;
    bool early_ = true; // messages go to stderr
    std::function<void(const LogRecord&)> log_sink_;

    unsigned holds_ = 0;
    Condition changed_;
    bool over_ = false;
    bool cut_short_ = false; // by fatal() or quit()
    bool raised_ = false;
    bool raising_ = false; // the exception is not answered yet
    bool following_ = false;
    int exit_code_ = 0;
    std::optional<std::string> fatal_text_;
    std::list<SignalWatcher> signals_;
    Proctable proctable_;
    std::unique_ptr<RexecServer> rexec_;

    Scope root_;
    Scope work_; // the job and the background work of plugins
};

} // namespace flux::shell
