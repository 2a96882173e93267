#include "engine.hpp"

#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

std::string job_key(JobId id, std::string_view name) { return fmt::format("{}.{}", id.kvs(), name); }

std::string active_key(JobId id) {
    // Jobs of the same moment are written together, so they share a directory.
    auto moment = (id.timestamp() >> 4) * 0x9E3779B97F4A7C15u;
    return fmt::format("{}.{}.{}.{}", active_directory, moment >> 59, (moment >> 54) & 31, id.f58plain());
}

Json exception_context(const Exception& exception) {
    auto context = Json::object("type", exception.type, "severity", exception.severity, "note", exception.note);
    if (exception.userid) context.set("userid", *exception.userid);
    if (exception.wait_status) context.set("wait_status", *exception.wait_status);
    return context;
}

Job& Engine::submit(std::unique_ptr<Job> taken, EventlogEntry submit) {
    auto& job = jobs_.add(std::move(taken));
    auto view = view_of(job);
    bool outer = std::exchange(busy_, true); // what plugins post comes after `submit`
    try {
        plugins_.create(view);
        plugins_.validate(view);
        plugins_.dependencies(view);
        plugins_.each([&](JobtapPlugin& plugin) { plugin.job_new(view); });
    } catch (...) {
        busy_ = outer;
        std::erase_if(queue_, [&](const Posted& posted) { return posted.id == job.id; });
        plugins_.tell([&](JobtapPlugin& plugin) { plugin.job_destroy(view); },
                      [&](const std::string& text) { surroundings_.on_trouble(text); });
        jobs_.remove(job.id);
        throw;
    }
    ledger_.transaction().put(active_key(job.id), "");
    record(job, submit);
    busy_ = outer;
    post(job, "validate");
    return job;
}

void Engine::adopt(const std::vector<JobId>& ids, double restarted) {
    // Plugins know all jobs before they are asked about dependencies between these.
    for (bool create : {true, false}) {
        for (auto id : ids) {
            auto* job = jobs_.find(id);
            if (!job || !job->active()) continue;
            if (create)
                plugins_.tell([&](JobtapPlugin& plugin) { plugin.job_create(view_of(*job)); },
                              [&](const std::string& text) { surroundings_.on_trouble(text); });
            else
                go_on(*job, job->last_event < restarted);
        }
    }
}

void Engine::go_on(Job& job, bool restarted) {
    auto view = view_of(job);
    try {
        if (job.state == JobState::depend) plugins_.dependencies(view);
        plugins_.each([&](JobtapPlugin& plugin) { plugin.job_new(view); });
    } catch (const Error& error) {
        raise(job, Exception("dependency", 4, error.what()));
    }
    if (job.state == JobState::new_) post(job, "validate");
    if (job.state == JobState::sched && restarted)
        post(job, "flux-restart");
    else
        reprioritize(job);
    if (job.state == JobState::sched) offer_resources(job);
    react(job);
    if (job.settled()) surroundings_.on_settled(job);
}

void Engine::introduce(const Plugins::Loaded& loaded) {
    bool outer = std::exchange(busy_, true); // what the plugin posts comes when it knows all jobs
    std::vector<Job*> active;
    for (auto& [id, job] : jobs_.all()) {
        if (job->active()) active.push_back(job.get());
    }
    auto tell = [&](const Job& job, auto action) {
        try {
            loaded.call(action);
        } catch (const Error& error) {
            surroundings_.on_trouble(fmt::format("{}: {}", job.id.f58(), loaded.explain(error)));
        }
    };
    for (auto* job : active) {
        auto view = view_of(*job);
        tell(*job, [&](JobtapPlugin& plugin) { plugin.job_create(view); });
    }
    for (auto* job : active) {
        auto view = view_of(*job);
        bool depends = job->state == JobState::depend;
        tell(*job, [&](JobtapPlugin& plugin) {
            if (depends) {
                for (auto dependency : JobspecView(job->jobspec).dependencies().elements())
                    plugin.job_dependency(view, dependency.get<std::string_view>("scheme"), dependency);
            }
            plugin.job_new(view);
            if (depends) plugin.job_depend(view);
        });
    }
    for (auto* job : active) reprioritize(*job);
    busy_ = outer;
    if (!busy_) drain();
}

void Engine::post(Job& job, std::string_view name, Json context) {
    enqueue(job, EventlogEntry(clock_(), name, std::move(context)));
}

void Engine::raise(Job& job, const Exception& exception) {
    enqueue(job, EventlogEntry(clock_(), "exception", exception_context(exception)), true);
}

void Engine::enqueue(Job& job, EventlogEntry entry, bool exception) {
    queue_.push_back({job.id, std::move(entry), exception});
    if (!busy_) drain();
}

void Engine::drain() {
    busy_ = true;
    while (!queue_.empty()) {
        auto posted = std::move(queue_.front());
        queue_.pop_front();
        if (auto* job = jobs_.find(posted.id)) process(*job, posted);
    }
    busy_ = false;
}

void Engine::process(Job& job, Posted& posted) {
    auto& entry = posted.entry;
    auto previous = job.state;
    entry.timestamp = std::max(entry.timestamp, job.last_event);
    try {
        fold(job, entry);
    } catch (const Error& error) {
        surroundings_.on_trouble(fmt::format("{}: {}", job.id.f58(), error.what()));
        return;
    }
    if (job.state != previous) jobs_.moved(previous, job.state);
    record(job, entry, posted.exception);
    if (entry.name == "memo") tell_annotations(job);
    call_plugins(job, entry, job.state != previous);
    if (job.state == JobState::sched && previous != JobState::sched) offer_resources(job);
    react(job);
}

void Engine::call_plugins(const Job& job, const EventlogEntry& entry, bool entered) {
    auto view = view_of(job);
    auto failed = [&](const std::string& text) {
        surroundings_.on_trouble(fmt::format("{}: plugin at '{}': {}", job.id.f58(), entry.name, text));
    };
    plugins_.tell([&](JobtapPlugin& plugin) { plugin.job_event(view, entry); }, failed);
    if (entry.name == "jobspec-update")
        plugins_.tell([&](JobtapPlugin& plugin) { plugin.job_update(view, entry.context); }, failed);
    if (entered) plugins_.tell([&](JobtapPlugin& plugin) { call_entered(plugin, view); }, failed);
}

// A plugin may have resources for a job; the scheduler has no part in it then.
void Engine::offer_resources(Job& job) {
    try {
        auto R = plugins_.resources(view_of(job));
        if (!R) return;
        if (!R->is_object()) throw Error(EINVAL, "R from a plugin is no object");
        ledger_.transaction().put(job_key(job.id, "R"), R->dump());
        job.R = std::move(*R);
        job.R.erase("scheduling");
        post(job, "alloc", Json::object("bypass", true));
    } catch (const Error& error) {
        Exception exception("alloc", 0, error.what());
        raise(job, exception);
    }
}

void Engine::record(Job& job, const EventlogEntry& entry, bool exception) {
    auto line = entry.encode();
    job.eventlog += line;
    auto end = job.eventlog.size();
    // Nobody acts upon memos; a stream of them must not keep a job from being settled.
    if (entry.name != "memo") job.gate = end;
    auto& transaction = ledger_.transaction();
    transaction.append(job_key(job.id, "eventlog"), line);
    // The mark of a waitable job stays until somebody has fetched its result.
    if (job.state == JobState::inactive && !job.waitable()) transaction.unlink(active_key(job.id));
    auto told = std::make_shared<EventlogEntry>(entry.copy());
    ledger_.then([this, id = job.id, end, exception, told] {
        auto* job = jobs_.find(id);
        if (!job) return;
        job->durable = end;
        surroundings_.on_event(*job, *told);
        if (exception) surroundings_.on_exception(*job, *told);
        if (end == job->gate) surroundings_.on_settled(*job);
    });
}

void Engine::annotate(Job& job, JsonView update) {
    merge_annotations(job.annotations, update);
    tell_annotations(job);
}

void Engine::clear_annotations(Job& job, std::string_view key) {
    if (!job.annotations.is_object() || (!key.empty() && !job.annotations.erase(key))) return;
    if (key.empty() || job.annotations.empty()) job.annotations = nullptr;
    tell_annotations(job);
}

void Engine::tell_annotations(Job& job) {
    EventlogEntry entry(clock_(), "annotations", Json::object("annotations", job.annotations.copy()));
    auto told = std::make_shared<EventlogEntry>(std::move(entry));
    ledger_.then([this, id = job.id, told] {
        if (auto* job = jobs_.find(id)) surroundings_.on_event(*job, *told);
    });
}

// Without an answer a job waits for the plugin to change its mind.
std::optional<std::int64_t> Engine::priority_of(const Job& job) {
    try {
        return plugins_.priority(view_of(job));
    } catch (const Error& error) {
        surroundings_.on_trouble(fmt::format("{}: no priority: {}", job.id.f58(), error.what()));
        return std::nullopt;
    }
}

void Engine::reprioritize(Job& job) {
    if (job.state == JobState::priority) return react(job);
    if (job.state != JobState::sched) return;
    auto priority = priority_of(job);
    if (priority && *priority != job.priority) post(job, "priority", Json::object("priority", *priority));
}

bool Engine::queued(JobId id, std::string_view name) const noexcept {
    return std::any_of(queue_.begin(), queue_.end(),
                       [&](const Posted& posted) { return posted.id == id && posted.entry.name == name; });
}

void Engine::react(Job& job) {
    auto follow = [&](std::string_view name, Json context = {}) {
        if (!queued(job.id, name)) post(job, name, std::move(context));
    };
    switch (job.state) {
    case JobState::depend:
        if (job.dependencies.empty() && !queued(job.id, "dependency-add")) follow("depend");
        break;
    case JobState::priority:
        if (auto priority = priority_of(job)) follow("priority", Json::object("priority", *priority));
        break;
    case JobState::cleanup: {
        bool shells = job.shells == Shells::pending || job.shells == Shells::maybe;
        if (shells || job.prologs > 0 || job.epilogs > 0 || queued(job.id, "epilog-start")) break;
        follow(job.has_resources ? "free" : "clean");
        break;
    }
    default: break;
    }
}

} // namespace flux::job_manager
