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

// What leaves here was made here: nothing of the plugin's code is in it.
void Plugins::Loaded::rethrow() const {
    try {
        throw;
    } catch (const Error& error) {
        throw Error(error.errnum(), error.text());
    } catch (const std::exception& error) {
        throw Error(EINVAL, fmt::format("{}: {}", name, error.what()));
    } catch (...) {
        throw Error(EINVAL, name + ": exception of an unknown type");
    }
}

std::string Plugins::Loaded::explain(const Error& error) const {
    std::string text = error.what();
    return text.starts_with(name + ": ") ? text : name + ": " + text;
}

Plugins::List::iterator Plugins::position(List& list, const Loaded& loaded) noexcept {
    return std::find_if(list.begin(), list.end(), [&](const auto& other) { return other.get() == &loaded; });
}

Plugins::Loaded& Plugins::prepare(std::unique_ptr<Loaded> loaded) { return *aside_.emplace_back(std::move(loaded)); }

void Plugins::admit(Loaded& loaded) { all_.splice(all_.end(), aside_, position(aside_, loaded)); }

Task<> Plugins::drop(Loaded& loaded) {
    auto at = position(all_, loaded);
    if (at != all_.end()) aside_.splice(aside_.end(), all_, at);
    co_await loaded.close();
    aside_.erase(position(aside_, loaded));
}

Task<> Plugins::clear() {
    while (!aside_.empty()) co_await drop(*aside_.back());
    while (!all_.empty()) co_await drop(*all_.back());
}

std::vector<std::string> Plugins::names() const {
    std::vector<std::string> names;
    for (auto& loaded : all_) names.push_back(loaded->name);
    return names;
}

Plugins::Loaded* Plugins::find(std::string_view name) const noexcept {
    auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& loaded) { return loaded->name == name; });
    return found == all_.end() ? nullptr : found->get();
}

Plugins::Loaded& Plugins::get(std::string_view name) const {
    auto* loaded = find(name);
    if (!loaded) throw Error(ENOENT, fmt::format("no such plugin '{}'", name));
    return *loaded;
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

std::optional<Json> Plugins::resources(const JobtapJob& job) const {
    std::optional<Json> R;
    each([&](JobtapPlugin& plugin) {
        if (auto answer = plugin.job_sched(job)) R = std::move(answer);
    });
    return R;
}

void call_entered(JobtapPlugin& plugin, const JobtapJob& job) {
    switch (job.state) {
    case JobState::depend: return plugin.job_depend(job);
    case JobState::run: return plugin.job_run(job);
    case JobState::cleanup: return plugin.job_cleanup(job);
    case JobState::inactive: return plugin.job_inactive(job);
    default: return;
    }
}

} // namespace flux::job_manager
