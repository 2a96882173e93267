// The course of one job at the coordinator, without messages and timers: what has happened comes in, what follows from
// it is collected in Orders. There are two kinds: ShellExecution and MockExecution.
//
// It is derived: after a restart it is made again from the eventlogs of the job (Past) and what agents tell.
#pragma once

#include "settings.hpp"

#include <flux/idset.hpp>
#include <flux/job_id.hpp>
#include <flux/resource_set.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flux::job_exec {

/// What is known of a job from its start request.
class Job {
public:
    Job() {}
    JobId id;
    std::uint32_t userid = 0;
    bool guest = false; ///< not the instance owner's
    Json jobspec;
    Json R;
    ResourceSet resources;

    const Idset& ranks() const noexcept { return resources.ranks(); }
    std::size_t size() const noexcept { return ranks().count(); }
    /// Broker rank of a shell rank, and back.
    std::uint32_t rank_of(std::size_t shell) const { return *ranks().nth(shell); }
    /// `host[1-2]`, each name once.
    std::string hosts(const Idset& ranks) const;
};

/// What an earlier coordinator, or this one in an earlier life, has done for a job.
class Past {
public:
    Past() {}
    bool begun = false;   ///< `init` was written
    bool started = false; ///< job-manager was told of the start
    Time started_at{};
    bool leader_exited = false;
    std::optional<int> complete; ///< the finish status
    bool done = false;
    std::optional<Idset> critical;
    bool fatal = false; ///< there is a fatal exception
    std::string fatal_type;
    std::optional<int> fatal_wait_status;
    Time fatal_at{};
};

class Orders {
public:
    Orders() {}
    class Event {
    public:
        Event(std::string name, Json context = {}) : name(std::move(name)), context(std::move(context)) {}
        std::string name;
        Json context;
    };
    class Signal {
    public:
        Signal(Idset ranks, int signum) : ranks(std::move(ranks)), signum(signum) {}
        Idset ranks;
        int signum;
    };
    /// What the leader shell is told of another.
    class Notice {
    public:
        Notice(int severity, std::size_t shell, std::string message)
            : severity(severity), shell(shell), message(std::move(message)) {}
        int severity;
        std::size_t shell;
        std::string message; ///< empty: an exception says it
    };
    class Drain {
    public:
        Drain(Idset ranks, std::string reason, bool give_up = false)
            : ranks(std::move(ranks)), reason(std::move(reason)), give_up(give_up) {}
        Idset ranks;
        std::string reason;
        bool give_up; ///< once it is done these shells count as ended
    };

    std::vector<Event> events;                         ///< for exec.eventlog
    std::vector<std::pair<std::string, Json>> answers; ///< to job-manager: type and data
    Idset launch;                                      ///< start shells there
    Idset release;                                     ///< let them through barrier `barrier`
    int barrier = 0;
    Idset refuse; ///< let them through no barrier any more
    std::vector<Signal> signals;
    std::optional<int> kill_tasks; ///< the shells signal their tasks
    std::vector<Notice> notices;
    std::vector<Drain> drains;
};

class Execution {
public:
    Execution(const Job& job, const Settings& settings) : job_(job), settings_(settings) {}
    virtual ~Execution() = default;
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    /// The start request has come for the first time.
    void init();
    /// It is prepared, start it.
    virtual void begin(Time now) = 0;
    /// Go on with what was begun earlier; instead of init() and begin().
    void take_over(const Past& past, bool reattach, Time now);
    /// job-manager has begun anew and may not have got the last answers.
    /// \param past  what its log says.
    void answer_again(const Past& past, bool reattach);

    /// Raise a fatal exception of type `exec`.
    void fail(const std::string& note, Time now);
    /// Somebody else has raised an exception.
    void on_exception(std::string_view type, int severity, std::optional<int> wait_status, Time now);
    /// When on_time() has something to do.
    virtual std::optional<Time> deadline() const = 0;
    virtual void on_time(Time now) = 0;

    /// Its events are all there: the log can be put away, the resources released.
    bool finished() const noexcept { return finished_; }
    bool fatal() const noexcept { return fatal_; }
    const Job& job() const noexcept { return job_; }
    /// What follows from all that has come in since the last call.
    Orders take_orders(Time now);

    virtual Json stats() const;

protected:
    /// Draw conclusions.
    virtual void settle(Time now) = 0;
    virtual void resume(const Past& past, bool reattach, Time now) = 0;
    /// There is a fatal exception from now on. `type` may call for a signal of its own.
    virtual void on_fatal(std::string_view type, Time now) = 0;

    /// Tell job-manager that it runs.
    void start();
    void raise(const std::string& type, int severity, const std::string& note, Time now);
    /// It is over. \param status  the greatest wait status.
    void finish(int status);

    const Job& job_;
    const Settings& settings_;
    Orders orders_;
    bool started_ = false;

private:
    bool finished_ = false;
    bool fatal_ = false;
    Json raised_;                    // the fatal exception that was raised here, else null
    std::optional<int> wait_status_; // of the first fatal exception
    int status_ = 0;
};

} // namespace flux::job_exec
