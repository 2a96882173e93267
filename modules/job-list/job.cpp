#include "job.hpp"

#include <flux/jobspec.hpp>
#include <flux/resource_set.hpp>

#include <algorithm>

namespace flux::job_list {

void merge_annotations(const JsonRef& target, JsonView update) {
    for (auto [key, value] : update.members()) {
        if (value.is_null()) {
            target.erase(key);
        } else if (value.is_object()) {
            if (!target[key].is_object()) target.set(key, Json::object());
            merge_annotations(target[key], value);
            if (target[key].empty()) target.erase(key);
        } else {
            target.set(key, value.copy());
        }
    }
}

void Job::enter(JobState next, Time time, double timestamp) {
    state = next;
    states_seen |= static_cast<std::uint8_t>(next);
    if (times[time] == 0) times[time] = timestamp;
}

void Job::annotate(JsonView update) {
    if (update.is_null()) {
        annotations = Text();
        return;
    }
    auto object = annotations ? Json::parse(annotations.view()) : Json::object();
    merge_annotations(object, update);
    annotations = object.empty() ? Text() : pool->intern(object.dump());
}

void Job::on_exception(const EventlogEntry& event) {
    auto severity = event.context.get<int>("severity");
    if (exception_severity < 0 || severity < exception_severity) {
        exception_severity = static_cast<std::int8_t>(std::clamp(severity, 0, 127));
        exception_type = pool->intern(event.context.get<std::string_view>("type"));
        exception_note = pool->intern(event.context.get_or<std::string_view>("note", ""));
    }
    bool ends = severity == 0 && in(job_states_pending | static_cast<int>(JobState::run));
    if (ends) enter(JobState::cleanup, Time::cleanup, event.timestamp);
}

void Job::on_update(JsonView updates) {
    for (auto [path, value] : updates.members()) {
        if (path == "attributes.system.duration" && value.is_number()) duration = value.as<double>();
        if (!value.is_string()) continue;
        auto text = value.as<std::string_view>();
        if (path == "attributes.system.job.name") name = pool->intern(text);
        if (path == "attributes.system.queue") queue = pool->intern(text);
        if (path == "attributes.system.project") project = pool->intern(text);
        if (path == "attributes.system.bank") bank = pool->intern(text);
    }
}

void Job::apply(const EventlogEntry& event) {
    JsonView context = event.context;
    auto time = event.timestamp;
    if (event.name == "submit") {
        userid = context.get<std::uint32_t>("userid");
        urgency = context.get<std::uint8_t>("urgency");
        enter(JobState::new_, Time::submit, time);
    } else if (event.name == "validate") {
        enter(JobState::depend, Time::depend, time);
    } else if (event.name == "invalidate") {
        removed = true;
    } else if (event.name == "dependency-add") {
        if (!dependencies) dependencies = std::make_unique<std::vector<std::string>>();
        dependencies->push_back(context.get<std::string>("description"));
    } else if (event.name == "dependency-remove") {
        if (dependencies) std::erase(*dependencies, context.get<std::string>("description"));
    } else if (event.name == "depend") {
        enter(JobState::priority, Time::priority_, time);
    } else if (event.name == "priority") {
        priority = context.get<std::int64_t>("priority");
        if (state == JobState::priority) enter(JobState::sched, Time::sched, time);
    } else if (event.name == "urgency") {
        urgency = context.get<std::uint8_t>("urgency");
        if (state == JobState::sched) enter(JobState::priority, Time::priority_, time);
    } else if (event.name == "flux-restart") {
        if (state == JobState::sched) enter(JobState::priority, Time::priority_, time);
    } else if (event.name == "jobspec-update") {
        on_update(context);
        if (state == JobState::sched) enter(JobState::priority, Time::priority_, time);
    } else if (event.name == "resource-update") {
        expiration = context.get_or("expiration", expiration);
    } else if (event.name == "alloc") {
        if (auto given = context["annotations"]; given.is_object()) annotate(given);
        enter(JobState::run, Time::run, time);
    } else if (event.name == "annotations") {
        annotations = Text();
        if (auto given = context["annotations"]; given.is_object()) annotate(given);
    } else if (event.name == "memo") {
        annotate(Json::object("user", context));
    } else if (event.name == "finish") {
        waitstatus = context.get<int>("status");
        finished = true;
        if (state == JobState::run) enter(JobState::cleanup, Time::cleanup, time);
    } else if (event.name == "exception") {
        on_exception(event);
    } else if (event.name == "clean") {
        std::optional<std::string_view> fatal;
        if (exception_severity == 0) fatal = exception_type.view();
        std::optional<int> status;
        if (finished) status = waitstatus;
        result = job_result(status, fatal);
        enter(JobState::inactive, Time::inactive, time);
    }
}

void Job::set_jobspec(JsonView json) {
    JobspecView jobspec(json);
    auto intern = [this](const std::string& text) { return text.empty() ? Text() : pool->intern(text); };
    cwd = intern(jobspec.cwd());
    queue = intern(jobspec.queue());
    project = intern(jobspec.project());
    bank = intern(jobspec.bank());
    duration = jobspec.duration();
    try {
        name = intern(jobspec.job_name());
        auto shape = jobspec.shape();
        nnodes = static_cast<std::int32_t>(shape.nnodes);
        ncores = shape.exclusive ? 0 : static_cast<std::int32_t>(shape.ncores());
        ntasks = static_cast<std::int32_t>(shape.ntasks);
        if (auto per = jobspec.per_resource()) {
            auto count = static_cast<std::int32_t>(per->count);
            (per->type == "node" ? tasks_per_node : tasks_per_core) = count;
            ntasks = per->type == "node" ? nnodes * count : ncores * count;
        }
    } catch (const Error&) {
        // A jobspec of another version: what it asks for is not known before it has it.
    }
}

void Job::set_R(JsonView json) {
    auto R = ResourceSet::decode(json);
    ranks = pool->intern(R.ranks().encode_with_brackets());
    nodelist = pool->intern(R.hosts().encode());
    nnodes = static_cast<std::int32_t>(R.nnodes());
    if (ncores == 0) ncores = static_cast<std::int32_t>(R.count("core"));
    if (tasks_per_node > 0) ntasks = nnodes * tasks_per_node;
    if (tasks_per_core > 0) ntasks = static_cast<std::int32_t>(R.count("core")) * tasks_per_core;
    expiration = R.expiration;
}

} // namespace flux::job_list
