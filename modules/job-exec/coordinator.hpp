// Service `job-exec` on rank 0: runs jobs for job-manager (RFC 32) through the agents of their ranks. What a job's
// course is, is in Execution; here messages become events of it and its Orders messages.
#pragma once

#include "absences.hpp"
#include "agent_links.hpp"
#include "guest_log.hpp"
#include "mock_execution.hpp"
#include "shell_execution.hpp"

#include <flux/handle.hpp>

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace flux::job_exec {

class Coordinator {
public:
    Coordinator(Handle& handle, Scope& scope, const Settings& settings, std::uint32_t owner);

    Task<> start();
    Json stats() const;

private:
    class Entry {
    public:
        Job job;
        Request request;
        std::unique_ptr<Execution> execution;
        ShellExecution* shells = nullptr; // the same, when it has shells
        MockExecution* mock = nullptr;
        std::unique_ptr<GuestLog> log;
        std::unique_ptr<Timer> timer;
        Json launch; // what agents get; null before it is known, and when all shells are there
        bool finishing = false;
    };
    using EntryPtr = std::shared_ptr<Entry>;
    using Done = std::function<void(const Error*)>;

    // job-manager
    void serve();
    Task<> meet_job_manager();
    void start_job(Request request);
    EntryPtr make_entry(Request request);
    // One of these is run for a start request; what it throws ends the job.
    using Course = Task<> (Coordinator::*)(EntryPtr, bool reattach);
    static Task<> run(Coordinator* self, EntryPtr entry, Course course, bool reattach);
    Task<> begin(EntryPtr entry, bool reattach);
    Task<> recover(EntryPtr entry, bool reattach);
    Task<> answer_again(EntryPtr entry, bool reattach);
    Task<> look_up_launch(EntryPtr entry);

    // methods
    void expiration(Request request);
    void critical_ranks(Request request);
    void override_event(Request request);
    void on_exception(const Message& message);

    // what follows
    void settle(const EntryPtr& entry, Done done = {});
    void carry_out(const EntryPtr& entry, Orders orders);
    void arm(const EntryPtr& entry);
    Task<> finish(EntryPtr entry);
    static Task<> drain(Coordinator* self, EntryPtr entry, Idset ranks, std::string reason, bool give_up);
    void tell_leader(const Entry& entry, std::string_view method, Json payload);

    // agents
    void on_shells(std::uint32_t rank, JsonView shells, bool all);
    void on_down(std::uint32_t rank, const Error& error);
    void lose(std::uint32_t rank, Loss loss, const std::string& why = {});
    bool wanted(std::uint32_t rank) const;
    Task<> learn_topology();
    using OnMembers = void (Coordinator::*)(const Idset& members);
    static Task<> watch(Coordinator* self, std::string group, OnMembers on_members);
    void on_online(const Idset& members);
    void on_torpid(const Idset& members);
    void on_node_lost(const Idset& members);
    void judge_absences();

    // shells and namespaces of jobs that are over
    void on_stranger(std::uint32_t rank, const ShellReport& report);
    void judge_soon();
    Task<> judge();
    Task<> judge_strangers();
    Task<bool> is_over(JobId id);

    EntryPtr find(JobId id) const;
    EntryPtr find_for(const Request& request, JobId id) const;

    Handle& handle_;
    Scope& scope_;
    const Settings& settings_;
    std::uint32_t owner_;
    kvs::Writer primary_;
    AgentLinks links_;
    std::unordered_map<JobId, EntryPtr> jobs_;
    std::set<JobId> namespaces_; // found at the start, their jobs have not been seen yet

    Idset doubtful_; // ranks out of reach for the first time
    Absences absences_;
    Timer absence_timer_;

    std::map<JobId, Idset> strangers_; // shells of jobs that are not ours (yet)
    bool manager_up_ = false;
    bool judging_ = false;
    bool judge_again_ = false;
};

} // namespace flux::job_exec
