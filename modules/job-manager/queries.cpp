#include "queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

namespace {

Json describe(const Job& job) {
    auto object = Json::object("id", job.id, "userid", job.userid, "urgency", job.urgency, "priority", job.priority,
                               "t_submit", job.t_submit, "state", static_cast<int>(job.state));
    if (!job.annotations.is_null()) object.set("annotations", job.annotations.copy());
    if (!job.dependencies.empty()) object.set("dependencies", Json(job.dependencies));
    return object;
}

// Those that wait for resources in their order, then the others, then those that are over and not collected.
int rank_of(const Job& job) noexcept {
    if (job.state == JobState::sched) return 0;
    return job.active() ? 1 : 2;
}

bool before(const Job* a, const Job* b) noexcept {
    if (rank_of(*a) != rank_of(*b)) return rank_of(*a) < rank_of(*b);
    if (rank_of(*a) == 0 && a->priority != b->priority) return a->priority > b->priority;
    return a->id < b->id;
}

} // namespace

void Queries::list(Request request) {
    auto max_entries = request.json().get<std::int64_t>("max_entries");
    if (max_entries < 0) throw Error(EPROTO, "max_entries is negative");
    std::vector<const Job*> jobs;
    for (auto& [id, job] : core_.jobs.all()) jobs.push_back(job.get());
    std::sort(jobs.begin(), jobs.end(), before);
    auto listed = Json::array();
    std::int64_t count = 0;
    for (auto* job : jobs) {
        if (job->active() && max_entries > 0 && ++count > max_entries) continue;
        listed.append(describe(*job));
    }
    auto answer = Payload::from_json(Json::object("jobs", std::move(listed)));
    // It may show what is not durable yet.
    core_.ledger.then([request, answer] { request.respond(answer); });
}

Task<> Queries::getattr(Request request) {
    auto id = request.json().get<JobId>("id");
    auto attrs = request.json().get<std::vector<std::string>>("attrs");
    auto* job = core_.jobs.find(id);
    std::unique_ptr<Job> over;
    if (!job) {
        over = co_await core_.archive.load(id);
        job = over.get();
    }
    bool own = job && request.credentials().may_act_for(job->userid);
    if (!own) core_.require_public(request); // says nothing about whether there is such a job
    if (!job) throw Error(EINVAL, "unknown job");
    require_own(request, *job, "can only access their own jobs");
    auto answer = Json::object();
    for (auto& attr : attrs) {
        Json value;
        if (attr == "jobspec") {
            value = job->jobspec.copy();
        } else if (attr == "R") {
            value = job->R.copy();
        } else if (attr == "eventlog") {
            value = Json::array();
            for (auto& entry : decode_eventlog(job->eventlog)) value.append(entry.to_json());
        } else {
            throw Error(ENOENT, fmt::format("unknown attr {}", attr));
        }
        if (value.is_null()) throw Error(ENOENT, fmt::format("{} is not there yet", attr));
        answer.set(attr, std::move(value));
    }
    auto payload = Payload::from_json(std::move(answer));
    core_.ledger.then([request, payload] { request.respond(payload); });
}

bool Queries::quiet() const noexcept { return core_.jobs.count(job_states_running) == 0 && sched_.outstanding() == 0; }

void Queries::drain(Request request) {
    drains_.add(std::move(request));
    on_change();
}

void Queries::idle(Request request) {
    idles_.add(std::move(request));
    on_change();
}

void Queries::on_change() {
    if (!drains_.empty() && drained()) {
        drains_.remove_if([](auto& entry) { return entry.request.respond(), true; });
    }
    if (!idles_.empty() && quiet()) {
        auto pending = core_.jobs.count(job_states_active);
        idles_.remove_if([&](auto& entry) { return entry.request.respond(Json::object("pending", pending)), true; });
    }
}

void Queries::disconnect(const Request& request) {
    drains_.disconnect(request);
    idles_.disconnect(request);
}

} // namespace flux::job_manager
