// A job that is run by shells, one on each rank of its R.
#pragma once

#include "execution.hpp"
#include "kill_plan.hpp"
#include "shell_report.hpp"

namespace flux::job_exec {

/// Why nothing more will be heard of a shell that has not told its end.
enum class Loss {
    broker, ///< its broker or node is lost, or the way to it
    torpid, ///< its broker has been silent for too long
    agent,  ///< there is no agent on its rank
    shell,  ///< the agent does not know it
};

class ShellExecution final : public Execution {
public:
    ShellExecution(const Job& job, const Settings& settings);

    void begin(Time now) override;
    std::optional<Time> deadline() const override;
    void on_time(Time now) override;
    Json stats() const override;

    /// What the agent of a rank has told.
    void on_report(std::uint32_t rank, const ShellReport& report);
    /// A (new) agent of this rank has told all of its shells, and ours is not among them.
    void on_absent(std::uint32_t rank);
    /// The rank is out of reach, and that is final. \param why  for a broker: who else's loss made it so, or empty
    void on_lost(std::uint32_t rank, Loss loss, std::string why = {});
    /// Whether a shell may be running there.
    bool active_on(std::uint32_t rank) const;
    /// A shell was ordered there, and nothing was heard of it.
    bool unheard_on(std::uint32_t rank) const;
    bool all_heard() const noexcept { return pending_ == 0; }
    /// These are drained: nothing more is expected of their shells.
    void on_given_up(const Idset& ranks);

    /// \throws Error EINVAL
    void set_critical(const Idset& shells);
    const Idset& critical() const noexcept { return critical_; }
    /// Broker rank of the leader, while it runs.
    std::optional<std::uint32_t> leader() const;
    Idset active_ranks() const;

private:
    enum class State {
        idle,     ///< not launched
        launched, ///< and nothing was heard of it
        expected, ///< an earlier coordinator had started it
        running,
        ended,
    };
    enum class End { exited, failed, broker_lost, torpid, agent_lost, shell_lost, unknown, never_ran, given_up };
    class Shell {
    public:
        State state = State::idle;
        End end = End::exited;
        int status = 0;
        int entered = 0;
        int errnum = 0;
        std::string error;
    };

    void settle(Time now) override;
    void resume(const Past& past, bool reattach, Time now) override;
    void on_fatal(std::string_view type, Time now) override;

    std::optional<std::size_t> position(std::uint32_t rank) const { return job_.ranks().position(rank); }
    static bool active(const Shell& shell) {
        return shell.state == State::launched || shell.state == State::expected || shell.state == State::running;
    }
    void set_state(Shell& shell, State state);
    void end(std::size_t shell, End how);
    void judge_ends(Time now);
    void judge_losses(const Idset& shells, const char* what, const std::string& why, Time now);
    void judge_exits(const Idset& shells, Time now);
    void check_leader(Time now);
    void check_barrier(Time now);
    void begin_kill(std::string_view type, Time now);
    void take_kill_step();
    Idset ranks_of(const Idset& shells) const;

    std::vector<Shell> shells_; // by shell rank
    Idset critical_;
    std::size_t active_ = 0;  // launched, expected or running
    std::size_t pending_ = 0; // nothing was heard of them yet
    Idset ended_;             // shell ranks since the last conclusions
    bool sound_ = true;       // every shell that has ended had run
    bool launched_ = false;
    bool may_launch_ = false;
    bool leader_told_ = false; // event shell-exit
    bool expired_ = false;

    int barrier_ = 0;           // the last one that is complete
    int released_ = 0;          // the highest that a shell was let through
    bool barrier_news_ = false; // somebody has entered, or left for good
    bool broken_ = false;       // a shell is gone: no barrier completes any more
    Idset refused_;             // ranks that were told so
    std::optional<Time> barrier_deadline_;
    std::optional<Time> exit_deadline_;

    std::optional<KillPlan> kill_;
    unsigned kill_count_ = 0;
    bool give_up_ = false; // under way
};

} // namespace flux::job_exec
