#include "job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <unordered_map>

namespace flux::job_manager {

namespace {

using Handler = void (*)(Job&, const EventlogEntry&);

[[noreturn]] void impossible(const Job& job, const EventlogEntry& entry) {
    throw Error(EPROTO, fmt::format("event '{}' in state {}", entry.name, job_state_name(job.state)));
}

void on_submit(Job& job, const EventlogEntry& entry) {
    if (job.state != JobState::none) impossible(job, entry);
    auto version = entry.context.get<int>("version");
    if (version != 1) throw Error(EPROTO, fmt::format("submit event has version {}", version));
    auto userid = entry.context.get<std::int64_t>("userid");
    auto urgency = entry.context.get<int>("urgency");
    auto flags = entry.context.get<int>("flags");
    if (urgency < urgency_hold || urgency > urgency_expedite) throw Error(EPROTO, "urgency is out of range");
    job.userid = static_cast<std::uint32_t>(userid);
    job.urgency = urgency;
    job.flags = flags;
    job.debug = flags & job_flag_debug;
    job.t_submit = entry.timestamp;
    job.state = JobState::new_;
}

void on_validate(Job& job, const EventlogEntry& entry) {
    if (job.state != JobState::new_) impossible(job, entry);
    job.state = JobState::depend;
}

void on_set_flags(Job& job, const EventlogEntry& entry) {
    auto flags = entry.context.get<std::vector<std::string>>("flags");
    bool Job::*member = nullptr;
    for (auto apply : {false, true}) {
        for (auto& flag : flags) {
            if (flag == "debug")
                member = &Job::debug;
            else if (flag == "immutable")
                member = &Job::immutable;
            else if (flag == "alloc-bypass")
                member = &Job::alloc_bypass;
            else
                throw Error(EPROTO, fmt::format("unknown job flag '{}'", flag));
            if (apply) job.*member = true;
        }
    }
}

void on_dependency_add(Job& job, const EventlogEntry& entry) {
    auto description = entry.context.get<std::string>("description");
    if (!job_state_in(job.state, static_cast<int>(JobState::new_) | static_cast<int>(JobState::depend))) return;
    if (!job.depends_on(description)) job.dependencies.push_back(std::move(description));
}

void on_dependency_remove(Job& job, const EventlogEntry& entry) {
    auto description = entry.context.get<std::string>("description");
    auto found = std::find(job.dependencies.begin(), job.dependencies.end(), description);
    if (found == job.dependencies.end()) return;
    job.satisfied.push_back(std::move(description));
    job.dependencies.erase(found);
}

void on_depend(Job& job, const EventlogEntry& entry) {
    if (job.state != JobState::depend) impossible(job, entry);
    job.state = JobState::priority;
}

void on_priority(Job& job, const EventlogEntry& entry) {
    auto priority = entry.context.get<std::int64_t>("priority");
    if (priority < priority_min || priority > priority_max) throw Error(EPROTO, "priority is out of range");
    if (job.state == JobState::priority)
        job.state = JobState::sched;
    else if (job.state != JobState::sched)
        impossible(job, entry);
    job.priority = priority;
}

void back_to_priority(Job& job) {
    if (job.state == JobState::sched) job.state = JobState::priority;
}

void on_urgency(Job& job, const EventlogEntry& entry) {
    auto urgency = entry.context.get<int>("urgency");
    if (urgency < urgency_hold || urgency > urgency_expedite) throw Error(EPROTO, "urgency is out of range");
    job.urgency = urgency;
    back_to_priority(job);
}

void on_flux_restart(Job& job, const EventlogEntry&) { back_to_priority(job); }

void on_jobspec_update(Job& job, const EventlogEntry& entry) {
    if (!entry.context.is_object()) throw Error(EPROTO, "jobspec-update has no context");
    if (job.jobspec.is_object()) {
        auto updated = job.jobspec.copy();
        for (auto [path, value] : entry.context.members()) updated.set_path(path, value.copy());
        job.jobspec = std::move(updated);
    }
    ++job.updates;
    back_to_priority(job);
}

void on_resource_update(Job& job, const EventlogEntry& entry) {
    auto expiration = entry.context.get<double>("expiration");
    if (job.R.is_object()) job.R.object_at("execution").set("expiration", expiration);
}

void on_alloc(Job& job, const EventlogEntry& entry) {
    if (job.state != JobState::sched) impossible(job, entry);
    bool bypass = entry.context.get_or("bypass", false);
    if (auto annotations = entry.context["annotations"]; annotations.is_object()) job.annotations = annotations.copy();
    job.alloc_bypass |= bypass;
    job.allocated = job.has_resources = true;
    job.state = JobState::run;
}

void on_prolog_start(Job& job, const EventlogEntry&) { ++job.prologs; }
void on_prolog_finish(Job& job, const EventlogEntry&) { job.prologs = std::max(job.prologs - 1, 0); }
void on_epilog_start(Job& job, const EventlogEntry&) { ++job.epilogs; }
void on_epilog_finish(Job& job, const EventlogEntry&) { job.epilogs = std::max(job.epilogs - 1, 0); }
void on_start(Job& job, const EventlogEntry&) { job.started = true; }

void on_finish(Job& job, const EventlogEntry& entry) {
    auto status = entry.context.get<int>("status");
    if (!job_state_in(job.state, job_states_running)) impossible(job, entry);
    job.finish_status = status;
    if (job.end_event.is_null()) job.end_event = entry.to_json();
    job.state = JobState::cleanup;
}

void on_exception(Job& job, const EventlogEntry& entry) {
    auto type = entry.context.get<std::string>("type");
    auto severity = entry.context.get<int>("severity");
    if (severity != 0) return;
    if (!job_state_in(job.state, job_states_active)) impossible(job, entry);
    if (job.end_event.is_null()) job.end_event = entry.to_json();
    if (type == "scheduler-restart") job.has_resources = false;
    if (job.exception_type.empty()) job.exception_type = std::move(type);
    job.state = JobState::cleanup;
}

void on_release(Job& job, const EventlogEntry& entry) {
    auto ranks = entry.context.get<std::string>("ranks");
    bool final = entry.context.get<bool>("final");
    if (ranks != "all") job.released |= Idset::parse(ranks);
    job.final_release |= final;
}

void on_free(Job& job, const EventlogEntry& entry) {
    if (job.state != JobState::cleanup) impossible(job, entry);
    job.has_resources = false;
}

void on_clean(Job& job, const EventlogEntry& entry) {
    if (job.state != JobState::cleanup) impossible(job, entry);
    job.state = JobState::inactive;
}

void on_memo(Job& job, const EventlogEntry& entry) {
    if (!entry.context.is_object()) throw Error(EPROTO, "memo has no context");
    merge_annotations(job.annotations, Json::object("user", entry.context.copy()));
}

// Events that are not here change nothing: those of plugins and of later versions.
const std::unordered_map<std::string_view, Handler>& handlers() {
    static const std::unordered_map<std::string_view, Handler> table{
        {"submit", on_submit},
        {"validate", on_validate},
        {"set-flags", on_set_flags},
        {"dependency-add", on_dependency_add},
        {"dependency-remove", on_dependency_remove},
        {"depend", on_depend},
        {"priority", on_priority},
        {"urgency", on_urgency},
        {"flux-restart", on_flux_restart},
        {"jobspec-update", on_jobspec_update},
        {"resource-update", on_resource_update},
        {"alloc", on_alloc},
        {"prolog-start", on_prolog_start},
        {"prolog-finish", on_prolog_finish},
        {"epilog-start", on_epilog_start},
        {"epilog-finish", on_epilog_finish},
        {"start", on_start},
        {"finish", on_finish},
        {"exception", on_exception},
        {"release", on_release},
        {"free", on_free},
        {"clean", on_clean},
        {"memo", on_memo},
    };
    return table;
}

} // namespace

bool Job::depends_on(std::string_view description) const noexcept {
    return std::find(dependencies.begin(), dependencies.end(), description) != dependencies.end();
}

JobResult Job::result() const noexcept {
    if (exception_type.empty()) return job_result(finish_status, std::nullopt);
    return job_result(finish_status, exception_type);
}

void fold(Job& job, const EventlogEntry& entry) {
    if (job.state == JobState::none && entry.name != "submit")
        throw Error(EPROTO, fmt::format("first event is '{}', not submit", entry.name));
    if (job.state == JobState::inactive) impossible(job, entry);
    auto found = handlers().find(entry.name);
    if (found != handlers().end()) found->second(job, entry);
    job.last_event = std::max(job.last_event, entry.timestamp);
}

Job replay(JobId id, std::string_view eventlog, std::string_view jobspec, std::string_view R) {
    Job job(id);
    if (!jobspec.empty()) job.jobspec = Json::parse(jobspec, "jobspec");
    if (!R.empty()) {
        job.R = Json::parse(R, "R");
        job.R.erase("scheduling");
    }
    for (auto& entry : decode_eventlog(eventlog)) fold(job, entry);
    if (job.state == JobState::none) throw Error(EPROTO, "eventlog is empty");
    if (!job.allocated)
        job.R = nullptr; // of a scheduler that was not heard any more
    else if (job.R.is_null() && job.has_resources)
        throw Error(EPROTO, "job has resources but no R");
    job.eventlog = eventlog;
    job.durable = job.gate = eventlog.size();
    job.freed = job.allocated && !job.has_resources; // a scheduler says hello before it learns of anything
    if (job.final_release)
        job.shells = Shells::gone;
    else if (job.allocated)
        job.shells = Shells::maybe;
    return job;
}

std::string failure_text(const Job& job) {
    if (job.end_event["name"].try_as<std::string_view>() == "exception") {
        auto context = job.end_event["context"];
        return fmt::format("Fatal exception type={} {}", context.get<std::string_view>("type"),
                           context.get_or<std::string_view>("note", ""));
    }
    return describe_job_failure(job.finish_status.value_or(0));
}

namespace {

// `update` has its nulls taken out and what is left empty with them.
void merge_object(JsonRef target, JsonView update) {
    for (auto [key, value] : update.members()) {
        if (value.is_null()) {
            target.erase(key);
            continue;
        }
        if (!value.is_object()) {
            target.set(key, value.copy());
            continue;
        }
        if (!target[key].is_object()) target.set(key, Json::object());
        merge_object(target[key], value);
        if (target[key].empty()) target.erase(key);
    }
}

} // namespace

void merge_annotations(Json& target, JsonView update) {
    if (!target.is_object()) target = Json::object();
    merge_object(target, update);
    if (target.empty()) target = nullptr;
}

} // namespace flux::job_manager
