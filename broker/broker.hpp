// The broker: everything it is made of and its life from boot to exit. Knows no KVS and no job.
#pragma once

#include "broker/attributes/attributes.hpp"
#include "broker/bootstrap/bootstrap.hpp"
#include "broker/connector/connector.hpp"
#include "broker/groups/groups.hpp"
#include "broker/host/modprobe.hpp"
#include "broker/host/module_host.hpp"
#include "broker/log/log_service.hpp"
#include "broker/overlay/overlay.hpp"
#include "broker/router/router.hpp"
#include "broker/state/program.hpp"
#include "broker/state/state_machine.hpp"
#include "broker/trace/tracer.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flux::broker {

/// The command line.
class Options {
public:
    Options() {}
    std::vector<std::pair<std::string, std::optional<std::string>>> attributes;
    std::optional<std::string> config_path;
    std::vector<std::string> config_specs;
    std::vector<std::string> command;
    int verbose = 0;
};

class Broker {
public:
    explicit Broker(Options options);
    ~Broker();
    /// Boot, run, shut down. \return the exit code
    int run();

private:
    // Phases of its life, in order (life.cpp).
    Task<int> life();
    Task<> live();
    void boot();
    Task<> tell_enclosing_instance(); // enclosing_instance.cpp
    Task<> run_rc1();
    Task<> log_start(); // start_log.cpp
    Task<> log_finish();
    Task<bool> log_life(const char* event, Json context);
    Task<> prepare_snapshots(); // snapshots.cpp
    std::string dump_directory() const;
    Task<> find_restore();
    Task<> restore_content();
    Task<> dump_content();
    Task<> write_dump(std::string file);
    Task<> wait_for_quorum();
    Task<> run_initial_program();
    /// Started to look after a damaged instance (`flux start --recovery`).
    bool recovering() const;
    std::string recovery_banner() const;
    Task<> run_cleanup();
    Task<> run_rc3();
    Task<> say_goodbye();
    static Task<int> run_life(Broker* self);
    Task<int> run_script(std::string phase, std::string command);
    Task<int> run_logged(std::string phase, std::vector<std::string> argv, std::string what);

    // Boot, in order (boot.cpp).
    void read_command_line();
    Json load_config(const std::string& path) const;
    void choose_bootstrap();
    void identify();
    void find_enclosing_instance();
    void set_default(const char* name, std::string value);
    void set_defaults();
    void tell_of_ignored_keys();
    void run_directory();
    void state_directory();
    void remove_directories();
    Topology make_topology();
    void make_overlay();
    std::string interface_hint();
    void meet_peers();
    void make_module_host();
    void open_services();
    void watch_signals();

    // Its parent (parent.cpp).
    bool configured() const;
    void follow_parent(Overlay::Environment& overlay);
    void learn_from_parent(JsonView answer);
    Task<> join();
    static Task<> join_or_fail(Broker* self, std::optional<Error>* failure);
    static Task<> join_parent(Broker* self);
    static Task<> watch_parent(Broker* self);
    void watch_anew();
    void parent_entered(State state);
    void parent_joined(JsonView answer, bool first);
    void announce_restart();

    // What ends it (life.cpp).
    void on_signal(int signum);
    void panic(const std::string& name, const std::string& why);
    void request_stop(const std::string& why);
    void set_exit_code(int code);
    int failure_code() const;

    // Services (services.cpp).
    void serve();
    void serve_attributes();
    void serve_events();
    void serve_modules();
    void serve_traces();
    void serve_config();
    void serve_shutdown();
    void on_service_change(const std::string& service, bool up);
    Task<> change_config(Json config);
    Task<std::optional<Error>> offer_config(JsonView config, std::vector<std::string>& asked);
    static Task<> follow_config(Broker* self);
    Json conf_builtin(JsonView keys) const;
    void serve_task(const Method& method, Task<> (Broker::*function)(Request));
    Task<> set_attribute(Request request);
    Task<> load_module(Request request);
    Task<> remove_module(Request request);
    Task<> reload_module(Request request);
    Task<> reload_config(Request request);
    Task<> load_config_object(Request request);
    void require_leader() const;

    void log(LogLevel level, const std::string& text) { log_.log(level, text); }

    Options options_;
    Loop loop_;
    Scope scope_; ///< tasks of the broker's whole life
    Router router_;
    Attributes attributes_;
    LogService log_;
    Json config_ = Json::object();
    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 1;
    std::string uuid_;
    std::string rundir_;
    bool rundir_made_ = false;
    std::string statedir_;
    bool statedir_made_ = false;
    ParentAddress parent_address_;
    Json hosts_; ///< host name of each rank
    std::unique_ptr<Bootstrap> bootstrap_;
    std::unique_ptr<Handle> handle_;
    std::unique_ptr<ModuleHost> host_;
    std::unique_ptr<Modprobe> modprobe_;
    std::unique_ptr<Connector> connector_;
    std::unique_ptr<Groups> groups_;
    std::unique_ptr<Overlay> overlay_;
    std::unique_ptr<Tracer> tracer_;
    StateMachine machine_;
    std::vector<std::unique_ptr<SignalWatcher>> signals_;

    std::unique_ptr<Program> program_; ///< the phase's program: initial program, cleanup command, script
    Scope* phase_ = nullptr;           ///< aborted when the phase has to end early
    bool started_ = false;             ///< the start was logged
    std::string restore_file_;         ///< the archive that the content is made from at this start
    bool stop_requested_ = false;
    bool restarting_ = false; ///< it ends to come back: the instance goes on
    bool panicked_ = false;
    Condition interrupt_; ///< notified when a stop is requested or the parent's state changes
    State parent_state_ = State::load_builtins;
    int exit_code_ = 0;
    std::vector<std::string> cleanup_;  ///< runat stack, last in first out
    RequestList<int> shutdown_clients_; ///< with their log level
    RequestList<std::string> service_watchers_;
    std::set<std::string> reloading_; ///< services that are registered and down
    RequestList<int> config_watchers_;
    bool changing_config_ = false;
    Condition config_changed_; ///< a change is over, one way or the other
};

} // namespace flux::broker
