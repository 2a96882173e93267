#include "plugins.hpp"

#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

namespace {

JsonView known(const Json& value) noexcept { return value.is_null() ? JsonView() : JsonView(value); }

} // namespace

JobtapJob view_of(const Job& job) noexcept {
    JobtapJob view;
    view.id = job.id;
    view.userid = job.userid;
    view.urgency = job.urgency;
    view.state = job.state;
    view.priority = job.priority;
    view.t_submit = job.t_submit;
    view.jobspec = known(job.jobspec);
    view.R = known(job.R);
    view.end_event = known(job.end_event);
    view.started = job.started;
    view.allocated = job.allocated;
    if (!job_state_in(job.state, ~static_cast<int>(JobState::inactive)) || job.state == JobState::cleanup)
        view.result = job.result();
    return view;
}

Plugins::Loaded::~Loaded() = default;

std::vector<std::string> Plugins::names() const {
    std::vector<std::string> names;
    for (auto& loaded : all_) names.push_back(loaded->name);
    return names;
}

Plugins::Loaded& Plugins::get(std::string_view name) const {
    for (auto& loaded : all_) {
        if (loaded->name == name) return *loaded;
    }
    throw Error(ENOENT, fmt::format("no such plugin '{}'", name));
}

Task<> Plugins::clear() {
    while (!all_.empty()) {
        co_await all_.back()->close();
        all_.pop_back();
    }
}

void Plugins::create(const JobtapJob& job) const {
    each([&](JobtapPlugin& plugin) { plugin.job_create(job); });
}

void Plugins::validate(const JobtapJob& job) const {
    each([&](JobtapPlugin& plugin) { plugin.job_validate(job); });
}

void Plugins::dependencies(const JobtapJob& job) const {
    for (auto dependency : JobspecView(job.jobspec).dependencies().elements()) {
        auto scheme = dependency.get<std::string_view>("scheme");
        if (!any([&](JobtapPlugin& plugin) { return plugin.job_dependency(job, scheme, dependency); }))
            throw Error(EINVAL, fmt::format("dependency scheme \"{}\" not supported", scheme));
    }
}

void Plugins::entered(const JobtapJob& job) const {
    each([&](JobtapPlugin& plugin) {
        switch (job.state) {
        case JobState::depend: return plugin.job_depend(job);
        case JobState::run: return plugin.job_run(job);
        case JobState::cleanup: return plugin.job_cleanup(job);
        case JobState::inactive: return plugin.job_inactive(job);
        default: return;
        }
    });
}

std::optional<std::int64_t> Plugins::priority(const JobtapJob& job) const {
    if (job.urgency == urgency_hold) return priority_min;
    if (job.urgency == urgency_expedite) return priority_max;
    auto answer = JobtapPlugin::Priority::unavailable();
    each([&](JobtapPlugin& plugin) {
        auto word = plugin.job_priority(job);
        if (!word.is_none()) answer = word;
    });
    if (answer.is_unavailable()) return std::nullopt;
    return std::clamp(answer.value(), priority_min, priority_max);
}

} // namespace flux::job_manager
