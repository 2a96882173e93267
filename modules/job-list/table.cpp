#include "table.hpp"

namespace flux::job_list {
namespace {

constexpr int inactive_states = static_cast<int>(JobState::inactive);

} // namespace

Table::List* Table::list_of(const Job& job) noexcept {
    if (job.in(job_states_pending)) return &pending_;
    if (job.in(job_states_running)) return &running_;
    if (job.in(inactive_states)) return &inactive_;
    return nullptr;
}

// Pending: priority, then age. Running and inactive: the newest first.
Table::Place Table::place_of(const Job& job) noexcept {
    if (job.in(job_states_pending)) return {-static_cast<double>(job.priority), job.id};
    return {-job.times[job.in(job_states_running) ? Job::run : Job::inactive], job.id};
}

void Table::link(const Job& job) {
    if (auto* list = list_of(job)) list->emplace(place_of(job), &job);
    counts_.add(job, 1);
}

void Table::unlink(const Job& job) {
    if (auto* list = list_of(job)) list->erase(place_of(job));
    counts_.add(job, -1);
}

void Table::apply(JsonView answer) {
    auto id = answer.get<JobId>("id");
    auto& slot = jobs_[id];
    if (!slot) slot = std::make_unique<Job>(id, pool_);
    auto& job = *slot;
    unlink(job);
    try {
        // An update in an event is already in a document that comes with it.
        for (auto event : answer["events"].elements()) job.apply(EventlogEntry::from_json(event));
        if (auto jobspec = answer["jobspec"]) job.set_jobspec(jobspec);
        if (auto R = answer["R"]) job.set_R(R);
    } catch (const Error& error) {
        link(job);
        throw error.while_doing(id.f58());
    }
    if (job.removed)
        jobs_.erase(id);
    else
        link(job);
}

void Table::purge(JobId id) {
    auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second->state != JobState::inactive) return;
    unlink(*found->second);
    counts_.purged(*found->second);
    jobs_.erase(found);
}

const Job* Table::find(JobId id) const noexcept {
    auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : found->second.get();
}

std::vector<const Job*> Table::select(Filter& filter, std::size_t limit, double since) const {
    std::vector<const Job*> result;
    auto visit = [&](const List& list, int states, double after) {
        auto verdict = filter.verdict(states);
        if (verdict == Filter::Verdict::never) return;
        for (const auto& [place, job] : list) {
            if (limit > 0 && result.size() == limit) return;
            if (-place.order <= after) return;
            if (verdict == Filter::Verdict::always || filter.matches(*job)) result.push_back(job);
        }
    };
    constexpr double always = -1e300;
    visit(pending_, job_states_pending, always);
    visit(running_, job_states_running, always);
    visit(inactive_, inactive_states, since);
    return result;
}

} // namespace flux::job_list
