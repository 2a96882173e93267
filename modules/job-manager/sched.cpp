#include "sched.hpp"

#include <flux/job_manager_protocol.hpp>
#include <flux/resource_set.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::job_manager {

namespace protocol = job_manager_protocol;

Sched::Sched(Core& core) : core_(core) {
    core_.handle.on_untagged(protocol::sched_alloc, [this](const Message& message) { on_answer(message); });
}

void Sched::hello(Request request) {
    request.require_streaming();
    close("another scheduler says hello");
    sender_ = request.sender();
    core_.ledger.then([this, request] { report(request); });
}

void Sched::report(const Request& request) {
    if (request.sender() != sender_) return;
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->allocated && !job->has_resources) job->freed = true; // it will not have heard of the job
        if (!job->has_resources || job->alloc_bypass) continue;
        request.respond(
            Json::object("id", id, "priority", job->priority, "userid", job->userid, "t_submit", job->t_submit));
    }
    greeted_ = true;
    request.end();
}

void Sched::ready(Request request) {
    if (request.sender() != sender_ || !greeted_) throw Error(EINVAL, "sched-ready without sched-hello");
    auto mode = request.json().get<std::string>("mode");
    std::optional<std::size_t> limit;
    if (mode == "limited") {
        auto given = request.json().get<std::int64_t>("limit");
        if (given <= 0) throw Error(EPROTO, fmt::format("limit {} is not positive", given));
        limit = static_cast<std::size_t>(given);
    } else if (mode != "unlimited") {
        throw Error(EPROTO, fmt::format("unknown mode '{}'", mode));
    }
    queue_.open(limit);
    request.respond(Json::object("count", queue_.waiting()));
    pump();
}

void Sched::query(Request request) {
    request.respond(Json::object("queue_length", queue_.waiting(), "alloc_pending", queue_.outstanding(), "running",
                                 core_.jobs.count(job_states_running)));
}

void Sched::resource_status(Request request) {
    ResourceSet allocated;
    for (auto& [id, job] : core_.jobs.all()) {
        if (!job->has_resources) continue;
        allocated = allocated.united(ResourceSet::decode(job->R));
    }
    allocated.starttime = allocated.expiration = 0;
    request.respond(Json::object("allocated", allocated.encode()));
}

void Sched::disconnect(const Request& request) {
    if (!sender_.empty() && request.sender() == sender_) close("disconnected");
}

void Sched::close(std::string_view why) {
    if (sender_.empty()) return;
    core_.handle.log(LogLevel::info, fmt::format("scheduler: {}", why));
    sender_.clear();
    greeted_ = false;
    queue_.close();
    for (auto& [id, updates] : requested_) {
        if (auto* job = core_.find_active(id)) core_.engine.clear_annotations(*job, "sched");
    }
    requested_.clear();
}

bool Sched::wants_resources(const Job& job) const {
    return job.state == JobState::sched && job.priority > priority_min && !job.alloc_bypass &&
           core_.queues.started(queue_of(job));
}

bool Sched::outdated(const Job& job) const noexcept {
    auto found = requested_.find(job.id);
    return found != requested_.end() && found->second != job.updates;
}

void Sched::update(Job& job) {
    if (!wants_resources(job) || outdated(job)) queue_.unwant(job.id);
    if (wants_resources(job)) queue_.want(job.id, job.priority);
}

void Sched::on_settled(Job& job) {
    update(job);
    pump();
    if (job.allocated && !job.has_resources && !job.freed && greeted_ && !job.alloc_bypass)
        give_back(job.id, job.R.copy());
    job.freed |= job.allocated && !job.has_resources;
}

void Sched::on_queues_changed() {
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->state == JobState::sched && job->settled()) update(*job);
    }
    pump();
}

void Sched::pump() {
    auto orders = queue_.take_orders();
    for (auto id : orders.request) {
        if (auto* job = core_.jobs.find(id)) request(*job);
    }
    for (auto id : orders.cancel) core_.handle.notify(protocol::sched_cancel, Json::object("id", id));
    if (orders.prioritize.empty()) return;
    auto jobs = Json::array();
    for (auto [id, priority] : orders.prioritize) jobs.append(Json::array_of(id, priority));
    core_.handle.notify(protocol::sched_prioritize, Json::object("jobs", std::move(jobs)));
}

void Sched::request(const Job& job) {
    requested_[job.id] = job.updates;
    core_.handle.send_untagged(protocol::sched_alloc,
                               Json::object("id", job.id, "priority", job.priority, "userid", job.userid, "t_submit",
                                            job.t_submit, "jobspec", job.jobspec.copy()));
    if (job.debug) core_.engine.post(*core_.jobs.find(job.id), "debug.alloc-request");
}

void Sched::give_back(JobId id, Json R) {
    core_.handle.notify(protocol::sched_free, Json::object("id", id, "R", std::move(R), "final", true));
}

void Sched::on_answer(const Message& message) {
    if (sender_.empty()) return; // of a scheduler that was given up
    try {
        message.throw_if_failed();
        auto answer = message.json();
        auto id = answer.get<JobId>("id");
        switch (protocol::AllocType{answer.get<int>("type")}) {
        case protocol::AllocType::success: on_success(id, answer); break;
        case protocol::AllocType::annotate: {
            auto annotations = answer.get<JsonView>("annotations");
            if (auto* job = core_.find_active(id)) core_.engine.annotate(*job, annotations);
            break;
        }
        case protocol::AllocType::deny: on_deny(id, answer); break;
        case protocol::AllocType::cancelled: on_cancelled(id); break;
        default: throw Error(EINVAL, fmt::format("unknown type {} of an alloc response", answer.get<int>("type")));
        }
    } catch (const Error& error) {
        close(error.what());
        return;
    }
    pump();
}

void Sched::on_success(JobId id, JsonView answer) {
    auto R = answer.get<JsonView>("R").copy();
    if (!R.is_object()) throw Error(EPROTO, "alloc response has no R");
    R.erase("scheduling");
    auto* job = core_.find_active(id);
    if (!queue_.answered(id)) throw Error(EPROTO, fmt::format("alloc response for {} without request", id.f58()));
    bool stale = !job || !wants_resources(*job) || outdated(*job);
    requested_.erase(id);
    if (!stale) {
        if (auto annotations = answer["annotations"]; annotations.is_object()) core_.engine.annotate(*job, annotations);
        job->R = std::move(R);
        Json context;
        if (!job->annotations.is_null()) context = Json::object("annotations", job->annotations.copy());
        core_.engine.post(*job, "alloc", std::move(context));
        return;
    }
    // Nobody waits for it any more; a job that does wait, for something else, asks again.
    if (job && !job->allocated) core_.ledger.transaction().unlink(job_key(id, "R"));
    auto kept = std::make_shared<Json>(std::move(R));
    core_.ledger.then([this, id, kept, sender = sender_] {
        if (sender != sender_) return; // it starts over with what jobs hold
        give_back(id, std::move(*kept));
        auto* job = core_.find_active(id);
        if (!job || !job->settled()) return;
        update(*job);
        pump();
    });
}

void Sched::on_deny(JobId id, JsonView answer) {
    auto* job = core_.find_active(id);
    if (job && outdated(*job)) return on_cancelled(id);
    queue_.answered(id);
    requested_.erase(id);
    if (!job || !job_state_in(job->state, job_states_pending)) return;
    core_.engine.clear_annotations(*job);
    Exception exception("alloc", 0, answer.get_or<std::string>("note", ""));
    exception.userid = core_.owner;
    core_.engine.raise(*job, exception);
}

void Sched::on_cancelled(JobId id) {
    requested_.erase(id);
    queue_.cancelled(id);
    if (auto* job = core_.find_active(id)) core_.engine.clear_annotations(*job, "sched");
}

} // namespace flux::job_manager
