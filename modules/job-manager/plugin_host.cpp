#include "plugin_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

// All that the plugin's code has made goes before the code.
HostedPlugin::~HostedPlugin() {
    for (auto& topic : topics_) core_.handle.unserve(topic);
    callbacks_.reset();
    plugin.reset();
    if (library_ && !library_->unload()) log(LogLevel::warning, "something pins the code, it stays in memory");
}

void HostedPlugin::make(std::unique_ptr<JobtapPlugin> (*function)(JobtapHost&)) {
    plugin.reset(function(*this).release());
}

void HostedPlugin::make(std::unique_ptr<Library> library) {
    library_ = std::move(library);
    auto& table = library_->table<JobtapTable>();
    plugin = {guarded([&] { return table.create(*this); }), DestroyPlugin(table.destroy)};
}

std::function<void()> HostedPlugin::keep(std::function<void()> callback) {
    auto at = callbacks_->insert(callbacks_->end(), std::move(callback));
    return [this, at, callbacks = std::weak_ptr<Callbacks>(callbacks_)] {
        auto alive = callbacks.lock();
        if (!alive) return;
        auto callback = std::move(*at);
        alive->erase(at);
        try {
            guarded(callback);
        } catch (const Error& error) {
            core_.handle.log(LogLevel::err, explain(error));
        }
    };
}

void HostedPlugin::log(LogLevel level, std::string_view text) {
    core_.handle.log(level, fmt::format("{}: {}", name, text));
}

Job& HostedPlugin::active(JobId id) {
    auto* job = core_.jobs.find(id);
    if (!job || job->state == JobState::inactive) throw Error(ENOENT, fmt::format("{}: job is not active", id.f58()));
    return *job;
}

std::optional<JobtapJob> HostedPlugin::lookup(JobId id) {
    if (auto* job = core_.jobs.find(id)) return view_of(*job);
    auto over = core_.references.find(id);
    if (over == core_.references.end()) return std::nullopt;
    return view_of(*over->second);
}

std::vector<JobId> HostedPlugin::active_jobs() const {
    std::vector<JobId> ids;
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->state != JobState::inactive) ids.push_back(id);
    }
    return ids;
}

void HostedPlugin::dependency_add(JobId id, std::string_view description) {
    auto& job = active(id);
    if (job.state != JobState::new_ && job.state != JobState::depend)
        throw Error(EINVAL, "a dependency cannot be added any more");
    if (std::find(job.satisfied.begin(), job.satisfied.end(), description) != job.satisfied.end())
        throw Error(EEXIST, fmt::format("dependency {} was removed before", description));
    if (!job.depends_on(description))
        core_.engine.post(job, "dependency-add", Json::object("description", description));
}

void HostedPlugin::dependency_remove(JobId id, std::string_view description) {
    auto& job = active(id);
    // What was added to a new job is not in its log yet.
    if (job.state != JobState::new_ && !job.depends_on(description))
        throw Error(ENOENT, fmt::format("no dependency {}", description));
    core_.engine.post(job, "dependency-remove", Json::object("description", description));
}

void HostedPlugin::set_flag(JobId id, std::string_view flag) {
    core_.engine.post(active(id), "set-flags", Json::object("flags", Json::array_of(flag)));
}

void HostedPlugin::raise(JobId id, std::string_view type, int severity, std::string_view note) {
    Exception exception(type, severity, note);
    exception.userid = core_.owner;
    core_.engine.raise(active(id), exception);
}

void HostedPlugin::post(JobId id, std::string_view event, Json context) {
    auto& job = active(id);
    EventlogEntry entry(event, context.copy());
    auto R = job.R.is_null() ? std::string() : job.R.dump();
    replay(id, job.eventlog + entry.encode(), {}, R); // what the log would say
    core_.engine.post(job, event, std::move(context));
}

void HostedPlugin::update_jobspec(JobId id, Json updates) {
    auto& job = active(id);
    if (job_state_in(job.state, job_states_running)) throw Error(EINVAL, "the jobspec cannot be changed any more");
    core_.engine.post(job, "jobspec-update", std::move(updates));
}

void HostedPlugin::annotate(JobId id, JsonView annotations) { core_.engine.annotate(active(id), annotations); }

void HostedPlugin::reprioritize(JobId id) { core_.engine.reprioritize(active(id)); }

void HostedPlugin::reprioritize_all() {
    for (auto id : active_jobs()) reprioritize(id);
}

void HostedPlugin::prolog_start(JobId id, std::string_view description) {
    auto& job = active(id);
    if (job.state == JobState::cleanup || job.shells != Shells::none)
        throw Error(EINVAL, "a prolog cannot be started any more");
    core_.engine.post(job, "prolog-start", Json::object("description", description));
}

void HostedPlugin::prolog_finish(JobId id, std::string_view description, int status) {
    core_.engine.post(active(id), "prolog-finish", Json::object("description", description, "status", status));
}

void HostedPlugin::epilog_start(JobId id, std::string_view description) {
    auto& job = active(id);
    if (job.state != JobState::cleanup || (job.allocated && !job.has_resources))
        throw Error(EINVAL, "an epilog cannot be started now");
    core_.engine.post(job, "epilog-start", Json::object("description", description));
}

void HostedPlugin::epilog_finish(JobId id, std::string_view description, int status) {
    core_.engine.post(active(id), "epilog-finish", Json::object("description", description, "status", status));
}

void HostedPlugin::serve(std::string_view method, MethodClass method_class, std::uint32_t roles,
                         std::function<void(Request)> handler) {
    auto plain = name.substr(name.starts_with('.'));
    auto& topic = topics_.emplace_back(fmt::format("job-manager.{}.{}", plain.substr(0, plain.find(".so")), method));
    core_.handle.serve(Method(topic, method_class, roles), std::move(handler));
}

} // namespace flux::job_manager
