// The shells of one rank as its agent knows them, without messages, processes and timers: what has happened comes in,
// what follows is collected. It is derived from the agent's files (AgentFiles) and the list of processes.
#pragma once

#include "kill_plan.hpp"
#include "shell_report.hpp"

#include <flux/job_id.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flux::job_exec {

/// What an agent has to know of a job besides what it gives to the shell.
class AgentJob {
public:
    explicit AgentJob(JobId id, std::uint32_t userid = 0) : id(id), userid(userid) {}
    JobId id;
    std::uint32_t userid;
    double delay = 0;          ///< seconds that a late start is made good for
    std::optional<Time> limit; ///< when its time is up
};

class AgentTable {
public:
    explicit AgentTable(const KillTiming& timing, int kill_signal) : timing_(timing), kill_signal_(kill_signal) {}
    void configure(const KillTiming& timing, int kill_signal) { timing_ = timing, kill_signal_ = kill_signal; }

    // From the coordinator
    /// \return whether a shell must be started: there is none, and was none.
    bool launch(const AgentJob& job);
    void signal(JobId id, int signum);
    /// Let the shell through a barrier and those before it; 0: through none any more.
    void release(JobId id, int seq);
    void set_limit(JobId id, std::optional<Time> limit);
    /// Nobody needs this job: its shell is ended and forgotten.
    void end(JobId id, int signum, Time now);
    void forget(JobId id);

    // From processes
    void started(JobId id);
    void failed(JobId id, int errnum, const std::string& error);
    /// \param status  nothing when nobody knows it, for the reason given.
    void ended(JobId id, std::optional<int> status, int errnum, const std::string& error, Json output);

    // From shells
    enum class Entry { wait, pass, refuse };
    /// \throws Error ENOENT, EINVAL
    Entry enter(JobId id, int seq);
    /// What a shell that waits at a barrier is to be told now.
    Entry entry(JobId id, int seq) const;
    /// Nothing when there is no such shell.
    const AgentJob* job(JobId id) const;

    /// Rebuild: what was known of a shell before.
    void adopt(const AgentJob& job, ShellReport last);

    std::optional<Time> deadline() const;
    /// \param alone  no coordinator is there to end what has expired.
    void on_time(Time now, bool alone);

    bool empty() const noexcept { return shells_.empty(); }
    std::size_t size() const noexcept { return shells_.size(); }
    bool contains(JobId id) const { return shells_.contains(id); }
    const ShellReport& report(JobId id) const { return shells_.at(id).report; }
    /// Reports of all shells, encoded.
    Json all_reports() const;
    /// Reports of those that are still there.
    Json reports_of(const std::set<JobId>& ids) const;

    // What follows
    /// Shells of which something has changed.
    std::set<JobId> take_changed() { return std::exchange(changed_, {}); }
    /// Those of which something must be remembered.
    std::set<JobId> take_unsaved() { return std::exchange(unsaved_, {}); }
    std::vector<std::pair<JobId, int>> take_signals() { return std::exchange(signals_, {}); }
    std::vector<JobId> take_forgotten() { return std::exchange(forgotten_, {}); }

private:
    class Shell {
    public:
        explicit Shell(const AgentJob& job) : job(job), report(job.id) {}
        AgentJob job;
        ShellReport report;
        std::vector<int> early_signals; // for a process that is not there yet
        bool refused = false;
        bool unwanted = false;        // forgotten when it has ended
        std::optional<KillPlan> kill; // the agent's own
        std::optional<Time> deadline;
    };
    Shell* find(JobId id);
    void change(Shell& shell, bool save);
    void send(Shell& shell, int signum);
    void begin_kill(Shell& shell, int signum, Time now);
    void schedule(Shell& shell);
    void drop(JobId id);
    static bool over(const Shell& shell) { return shell.report.state >= ShellState::ended; }

    KillTiming timing_;
    int kill_signal_;
    std::map<JobId, Shell> shells_;
    std::set<std::pair<Time, JobId>> deadlines_;
    std::set<JobId> changed_;
    std::set<JobId> unsaved_;
    std::vector<std::pair<JobId, int>> signals_;
    std::vector<JobId> forgotten_;
};

} // namespace flux::job_exec
