// Service `exec-agent`: starts and watches the job shells of this rank through its subprocess server, lets them through
// barriers and tells the coordinator (flux/job_exec_protocol.hpp). Its state is in AgentTable.
#pragma once

#include "agent_files.hpp"
#include "agent_table.hpp"
#include "settings.hpp"

#include <flux/handle.hpp>
#include <flux/rexec.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::job_exec {

class Agent {
public:
    Agent(Handle& handle, Scope& scope, std::uint32_t rank, const Settings& settings);

    /// Find out what there is, then serve.
    Task<> start();
    /// The settings have changed.
    void configure();
    /// Whether a request is the coordinator's hello, which a reload goes on with.
    bool is_session(const Request& request) const noexcept;
    void resume_session(Request request);
    Json stats() const;

private:
    class Waiting {
    public:
        Waiting(JobId id, int seq) : id(id), seq(seq) {}
        JobId id;
        int seq;
    };

    Task<> read_attributes();
    Task<> rebuild();
    void adopt(JobId id, JsonView launch, ShellReport last, const std::vector<rexec::ProcessInfo>& processes);
    Task<> watch_server();
    Task<> server_is_up();
    void serve();
    template <class F> void for_jobs(const Request& request, F&& act);

    void hello(Request request);
    void launch(JsonView job);
    void shell_barrier(Request request);
    void disconnect(const Request& request);
    void announce();

    void set_limit(AgentJob& job, double expiration) const;
    RemoteCommand command_of(JobId id, JsonView job) const;
    std::string label_prefix() const;
    std::string label_of(JobId id) const;
    /// Start a shell, unless there is no command, and wait for its end.
    /// \param again  it may have been started already.
    static Task<> run(Agent* self, JobId id, std::shared_ptr<RemoteCommand> command, bool again);
    Task<bool> start_shell(JobId id, const RemoteCommand& command, bool again);
    Task<> wait_for_shell(JobId id);

    void settle_soon();
    void settle();
    void save();
    void answer_waiting();
    rexec::Server server() const { return rexec::Server().service(settings_.service); }

    Handle& handle_;
    Scope& scope_;
    std::uint32_t rank_;
    const Settings& settings_;
    AgentTable table_;
    std::unique_ptr<AgentFiles> files_;
    std::vector<std::string> environment_; // of shells
    std::uint32_t owner_ = 0;
    Json attributes_ = Json::object();
    Request session_; // hello of the coordinator
    RequestList<Waiting> waiting_;
    std::vector<std::string> noted_; // labels of ended shells that the server may forget when they are saved
    Timer timer_;
    bool settling_ = false;
    bool server_up_ = false;
    Condition server_changed_;
};

} // namespace flux::job_exec
