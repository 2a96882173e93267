// Writing a jobtap plugin, a part of job-manager: derive from JobtapPlugin, override what is of interest, end the file
// with FLUX_JOBTAP_PLUGIN(Class). Its callbacks are the topics of Flux's jobtap plugins (jobs.md 6.2).
//
// Everything is called on job-manager's thread while it handles an event; a callback does not wait. What a plugin posts
// comes after the event in hand, and is durable before anybody outside hears of it. Nothing that a plugin keeps in
// memory survives its reload: job_create() and job_new() are called again for every active job, and the rest is in the
// events that it posted.
//
// A callback that throws rejects or refuses where that is said below; anywhere else the failure is logged. A plugin is
// really unloaded: what it starts runs in JobtapHost::scope(), and what it hands out ends with the plugin (a Timer that
// is a member; the callbacks that JobtapHost takes are dropped with the plugin, those of Handle are not).
#pragma once

#include <flux/eventlog.hpp>
#include <flux/handle.hpp>
#include <flux/job_id.hpp>
#include <flux/job_state.hpp>
#include <flux/module.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// What plugins see of a job; views are valid during the callback.
struct JobtapJob {
    JobId id;
    std::uint32_t userid = userid_unknown;
    int urgency = urgency_default;
    JobState state = JobState::none;
    std::int64_t priority = priority_unset;
    double t_submit = 0;
    JsonView jobspec;                ///< without environment, with all updates
    JsonView R;                      ///< without `scheduling`; nothing before the allocation
    JsonView end_event;              ///< the event that ended the job; nothing before
    bool started = false;            ///< its shells were started
    bool allocated = false;          ///< it was given resources
    std::optional<JobResult> result; ///< in CLEANUP and INACTIVE
};

/// A request to change the value at one path of a jobspec.
struct JobtapUpdate {
    std::string_view key;
    JsonView value;
    JsonView updates; ///< all that the request changes
    Credentials credentials;

    bool validated = false;   ///< out: job_validate() need not see the result
    bool feasibility = false; ///< out: ask the scheduler whether the result can ever run
    Json more;                ///< out: further changes, an object by path
};

/// What job-manager offers a plugin. Each function about a job throws Error ENOENT when it is not active, and EINVAL
/// when the call makes no sense in its state.
class JobtapHost {
public:
    virtual Handle& handle() noexcept = 0;
    /// For the plugin's own tasks; aborted before it is unloaded.
    virtual Scope& scope() noexcept = 0;
    /// The configuration of the instance.
    virtual JsonView config() const = 0;
    /// What the plugin was loaded with: an object, empty when there was nothing.
    virtual JsonView arguments() const = 0;
    virtual void log(LogLevel level, std::string_view text) = 0;

    /// An active job, or an inactive one that job_references() had named; nothing otherwise.
    virtual std::optional<JobtapJob> lookup(JobId id) = 0;
    /// The active jobs, in the order of their ids.
    virtual std::vector<JobId> active_jobs() const = 0;

    /// In NEW and DEPEND only; adding one that is outstanding does nothing. \throws Error EEXIST when it was removed
    virtual void dependency_add(JobId id, std::string_view description) = 0;
    virtual void dependency_remove(JobId id, std::string_view description) = 0;
    /// `alloc-bypass`, `debug` or `immutable`.
    virtual void set_flag(JobId id, std::string_view flag) = 0;
    virtual void raise(JobId id, std::string_view type, int severity, std::string_view note) = 0;
    /// Any event. \throws Error EPROTO when it is malformed or impossible now
    virtual void post(JobId id, std::string_view event, Json context) = 0;
    virtual void update_jobspec(JobId id, Json updates) = 0;
    /// Merge into the job's annotations; not durable.
    virtual void annotate(JobId id, JsonView annotations) = 0;
    /// Ask priority() again, for one job or for all.
    virtual void reprioritize(JobId id) = 0;
    virtual void reprioritize_all() = 0;

    /// Hold the job back, before its start and after its end; several may be active.
    virtual void prolog_start(JobId id, std::string_view description) = 0;
    virtual void prolog_finish(JobId id, std::string_view description, int status) = 0;
    virtual void epilog_start(JobId id, std::string_view description) = 0;
    virtual void epilog_finish(JobId id, std::string_view description, int status) = 0;

    /// Have JobtapPlugin::job_inactive_add() called for every ended job in the store that it was not called for, then
    /// call back. The first time it reads them all.
    virtual void with_inactive(std::function<void()> callback) = 0;
    /// Call back when everything that was posted so far is durable.
    virtual void when_durable(std::function<void()> callback) = 0;
    /// \throws Error EINVAL when jobs cannot be submitted to this queue
    virtual void check_submit(std::string_view queue) = 0;
    /// Serve `job-manager.PLUGIN.METHOD`.
    virtual void serve(std::string_view method, MethodClass method_class, std::uint32_t roles,
                       std::function<void(Request)> handler) = 0;

protected:
    ~JobtapHost() = default;
};

class JobtapPlugin {
public:
    explicit JobtapPlugin(JobtapHost& host) : host_(host) {}
    virtual ~JobtapPlugin();
    JobtapPlugin(const JobtapPlugin&) = delete;
    JobtapPlugin& operator=(const JobtapPlugin&) = delete;

    /// conf.update: the configuration of the instance, at load and when it changes. \throws Error to refuse it
    virtual void conf_update(JsonView config) { (void)config; }
    /// plugin.query: what `flux jobtap query` shows.
    virtual Json query() { return Json::object(); }

    /// Inactive jobs that the next callbacks will look up.
    virtual void job_references(const JobtapJob& job, std::vector<JobId>& ids) { (void)job, (void)ids; }
    /// job.create, job.validate, job.new: a job was submitted, was accepted; or the plugin or job-manager was loaded
    /// (create and new). \throws Error to reject a submission
    virtual void job_create(const JobtapJob& job) { (void)job; }
    virtual void job_validate(const JobtapJob& job) { (void)job; }
    virtual void job_new(const JobtapJob& job) { (void)job; }
    /// job.dependency.SCHEME: false when the scheme is none of this plugin's. \throws Error to reject the job
    virtual bool job_dependency(const JobtapJob& job, std::string_view scheme, JsonView dependency) {
        return (void)job, (void)scheme, (void)dependency, false;
    }

    /// job.state.depend
    virtual void job_depend(const JobtapJob& job) { (void)job; }
    /// A plugin's word on a priority.
    class Priority {
    public:
        /// Not mine: the next plugin is asked.
        static Priority none() noexcept { return Priority(-2); }
        /// Not known yet: the job stays in PRIORITY until reprioritize().
        static Priority unavailable() noexcept { return Priority(-1); }
        explicit Priority(std::int64_t value) noexcept : value_(value) {}
        bool is_none() const noexcept { return value_ == -2; }
        bool is_unavailable() const noexcept { return value_ == -1; }
        std::int64_t value() const noexcept { return value_; }

    private:
        std::int64_t value_;
    };
    /// job.state.priority, job.priority.get: the last loaded plugin with an answer decides.
    virtual Priority job_priority(const JobtapJob& job) { return (void)job, Priority::none(); }
    /// job.state.sched: R to run with, which the scheduler has no part in.
    virtual std::optional<Json> job_sched(const JobtapJob& job) { return (void)job, std::nullopt; }
    /// job.state.run, .cleanup, .inactive
    virtual void job_run(const JobtapJob& job) { (void)job; }
    virtual void job_cleanup(const JobtapJob& job) { (void)job; }
    virtual void job_inactive(const JobtapJob& job) { (void)job; }
    /// job.event.NAME, for every event of every job.
    virtual void job_event(const JobtapJob& job, const EventlogEntry& entry) { (void)job, (void)entry; }
    /// job.update: the jobspec was changed.
    virtual void job_update(const JobtapJob& job, JsonView updates) { (void)job, (void)updates; }
    /// job.update.KEY: false when the key is none of this plugin's. \throws Error to refuse the change
    virtual bool job_update_key(const JobtapJob& job, JobtapUpdate& update) { return (void)job, (void)update, false; }
    /// job.destroy: the job was rejected or its end is durable.
    virtual void job_destroy(const JobtapJob& job) { (void)job; }
    /// job.inactive-add and job.inactive-remove: an ended job is kept, and purged.
    virtual void job_inactive_add(const JobtapJob& job) { (void)job; }
    virtual void job_inactive_remove(JobId id) { (void)id; }

protected:
    JobtapHost& host() const noexcept { return host_; }

private:
    JobtapHost& host_;
};

/// What a plugin's `.so` exports: data, read before any of its code runs. Fields are only ever appended.
struct JobtapTable {
    std::uint32_t size;
    std::uint16_t minor;
    const char* abi_tag;
    JobtapPlugin* (*create)(JobtapHost&);
    void (*destroy)(JobtapPlugin*) noexcept;
};
inline constexpr std::uint16_t jobtap_abi_minor = 0;
inline constexpr const char* jobtap_table_symbol = "flux_jobtap_table";

/// Export `Class`, a JobtapPlugin constructible from JobtapHost&. The plugin's name is that of its file.
#define FLUX_JOBTAP_PLUGIN(Class)                                                                                      \
    FLUX_ABI_MARK                                                                                                      \
    extern "C" FLUX_EXPORT const ::flux::JobtapTable flux_jobtap_table;                                                \
    const ::flux::JobtapTable flux_jobtap_table = {                                                                    \
        sizeof(::flux::JobtapTable), ::flux::jobtap_abi_minor, FLUX_ABI_TAG,                                           \
        [](::flux::JobtapHost& host) -> ::flux::JobtapPlugin* { return new Class(host); },                             \
        [](::flux::JobtapPlugin* plugin) noexcept { delete plugin; }};

} // namespace flux
