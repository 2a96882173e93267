#include "submissions.hpp"

#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

namespace {

EventlogEntry submit_event(JsonView job) {
    auto context = Json::object("userid", job.get<std::int64_t>("userid"), "urgency", job.get<int>("urgency"), "flags",
                                job.get<int>("flags"), "version", 1);
    return EventlogEntry(job.get<double>("t_submit"), "submit", std::move(context));
}

bool same_submission(const Job& a, const Job& b) { return a.userid == b.userid && a.t_submit == b.t_submit; }

} // namespace

void Submissions::getinfo(Request request) {
    core_.require_public(request);
    auto answer = Json::object("max_jobid", core_.max_id);
    if (core_.epoch > 0) answer.set("epoch", core_.epoch);
    request.respond(std::move(answer));
}

// Jobs that are over and matter: one with the id of a new job, and those that plugins want to know about.
Task<> Submissions::look_up(const std::vector<std::unique_ptr<Job>>& jobs) {
    std::vector<JobId> ids;
    for (auto& job : jobs) {
        if (job->id <= known_) ids.push_back(job->id);
        core_.tell_plugins([&](JobtapPlugin& plugin) { plugin.job_references(view_of(*job), ids); });
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::erase_if(ids, [&](JobId id) { return core_.jobs.find(id); });
    Archive::Visit keep = [this](JobId id, std::unique_ptr<Job> job, const Error*) {
        if (job) core_.references[id] = std::move(job);
    };
    if (!ids.empty()) co_await core_.archive.load_each(std::move(ids), keep);
}

Task<> Submissions::submit(Request request) {
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<EventlogEntry> events;
    for (auto entry : request.json().get<JsonView>("jobs").elements()) {
        auto& job = jobs.emplace_back(std::make_unique<Job>(entry.get<JobId>("id")));
        job->jobspec = entry.get<JsonView>("jobspec").copy();
        fold(*job, events.emplace_back(submit_event(entry)));
    }
    co_await look_up(jobs);
    auto entries = request.json()["jobs"];
    auto errors = Json::array();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto id = jobs[i]->id;
        try {
            take(std::move(jobs[i]), std::move(events[i]), entries[i].get_optional<std::string_view>("J"));
        } catch (const Error& error) {
            errors.append(Json::array_of(id, error.what()));
        }
    }
    core_.references.clear();
    auto answer = Json::object();
    if (!errors.empty()) answer.set("errors", std::move(errors));
    auto payload = Payload::from_json(std::move(answer));
    core_.ledger.then([request, payload] { request.respond(payload); });
}

void Submissions::take(std::unique_ptr<Job> job, EventlogEntry submit, std::optional<std::string_view> J) {
    auto* known = core_.jobs.find(job->id);
    if (auto over = core_.references.find(job->id); !known && over != core_.references.end())
        known = over->second.get();
    if (known && same_submission(*known, *job)) return; // its answer was lost
    if (known) throw Error(EEXIST, fmt::format("job id {} is in use", job->id.f58()));
    core_.queues.check_submit(queue_of(*job));
    std::string jobspec;
    if (J) jobspec = job->jobspec.dump(); // as it came: updates are in the eventlog
    auto& taken = core_.engine.submit(std::move(job), std::move(submit));
    if (J) {
        core_.ledger.transaction().put(job_key(taken.id, "J"), *J).put(job_key(taken.id, "jobspec"), jobspec);
    }
    if (taken.id > core_.max_id || core_.epoch == 0) {
        core_.max_id = std::max(core_.max_id, taken.id);
        core_.epoch = taken.t_submit - static_cast<double>(taken.id.timestamp()) / 1000;
        core_.save_checkpoint();
    }
    on_job_(taken);
}

} // namespace flux::job_manager
