// The state machine of jobs (RFC 21): an event changes a job, plugins hear of it, what follows by itself is posted, and
// when all is durable the surroundings are told to act. Pure: no messages, no clock but the one it is given.
//
// An event of a job waits until the one in hand is dealt with, so that callbacks may post freely.
#pragma once

#include "jobs.hpp"
#include "ledger.hpp"
#include "plugins.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace flux::job_manager {

/// What is told to whoever lives around the engine; all of it is durable by then.
class Surroundings {
public:
    /// An event, in its order; for job events that are only told and not logged as well.
    virtual void on_event(const Job& job, const EventlogEntry& entry) = 0;
    /// An exception that the execution service does not know of.
    virtual void on_exception(const Job& job, const EventlogEntry& entry) = 0;
    /// The job is in a state that may be acted upon. It may be removed in this.
    virtual void on_settled(Job& job) = 0;
    /// Something went wrong that only a person can deal with.
    virtual void on_trouble(const std::string& text) = 0;
    /// What was to be durable cannot be: memory is ahead of the store for good.
    virtual void on_store_failure(const Error& error) = 0;

protected:
    ~Surroundings() = default;
};

class Exception {
public:
    Exception(std::string_view type, int severity, std::string_view note = {})
        : type(type), severity(severity), note(note) {}
    std::string type;
    int severity;
    std::string note;
    std::optional<std::uint32_t> userid;
    std::optional<int> wait_status;
};

class Engine {
public:
    using Clock = std::function<double()>;
    Engine(Jobs& jobs, Plugins& plugins, Ledger& ledger, Surroundings& surroundings, Clock clock)
        : jobs_(jobs), plugins_(plugins), ledger_(ledger), surroundings_(surroundings), clock_(std::move(clock)) {}

    /// Take a submitted job, whose `submit` event is folded already. \throws Error to reject it; it is gone then
    Job& submit(std::unique_ptr<Job> job, EventlogEntry submit);
    /// Go on with jobs that were there before this instance of the module. `restarted` is the time of the last restart
    /// of the whole instance: jobs that have lived through it say so in their logs.
    void adopt(const std::vector<JobId>& ids, double restarted);

    /// A plugin that was just admitted hears of all active jobs, then every priority is asked for again.
    void introduce(const Plugins::Loaded& loaded);

    /// An event happens to a job. One that is impossible is reported and ignored.
    void post(Job& job, std::string_view name, Json context = {});
    void raise(Job& job, const Exception& exception);
    /// Merge into the annotations, and tell.
    void annotate(Job& job, JsonView update);
    void clear_annotations(Job& job, std::string_view key = {});
    /// Ask for the job's priority again.
    void reprioritize(Job& job);
    /// See what follows from things that are no events.
    void react(Job& job);
    /// Whether an event with this name waits its turn.
    bool queued(JobId id, std::string_view name) const noexcept;

private:
    struct Posted {
        JobId id;
        EventlogEntry entry;
        bool exception; // to be told to the execution service
    };
    void go_on(Job& job, bool restarted);
    void enqueue(Job& job, EventlogEntry entry, bool exception = false);
    void drain();
    void process(Job& job, Posted& posted);
    void call_plugins(const Job& job, const EventlogEntry& entry, bool entered);
    std::optional<std::int64_t> priority_of(const Job& job);
    void offer_resources(Job& job);
    void record(Job& job, const EventlogEntry& entry, bool exception = false);
    void tell_annotations(Job& job);

    Jobs& jobs_;
    Plugins& plugins_;
    Ledger& ledger_;
    Surroundings& surroundings_;
    Clock clock_;
    std::deque<Posted> queue_;
    bool busy_ = false;
};

/// Context of an exception event.
Json exception_context(const Exception& exception);
/// Key of what the KVS has of a job: `eventlog`, `jobspec`, `R`.
std::string job_key(JobId id, std::string_view name);
/// Key of the mark that a job is not over. Spread over directories, as each change writes the whole directory again.
std::string active_key(JobId id);
inline constexpr std::string_view active_directory = "job-active";

} // namespace flux::job_manager
