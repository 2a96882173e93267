#include "updates.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <optional>

namespace flux::job_manager {

namespace protocol = job_manager_protocol;

namespace {

constexpr std::string_view duration_key = "attributes.system.duration";

void check_path(std::string_view path) {
    auto first = path.substr(0, path.find('.'));
    bool legal = (first == "attributes" || first == "resources" || first == "tasks") && !path.ends_with('.') &&
                 path.find("..") == std::string_view::npos;
    if (!legal) throw Error(EINVAL, fmt::format("attribute '{}' is no legal path of a jobspec", path));
}

// When a running job with a new duration has to end; 0: never.
double new_expiration(const Job& job, double duration) {
    if (duration == 0) return 0;
    auto expiration = job.R.find("execution.starttime").as<double>() + duration;
    auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    if (expiration <= now) throw Error(EINVAL, "requested duration places job expiration in the past");
    return expiration;
}

// Services that are not there have no objection.
Task<> ask(Handle& handle, std::string topic, Json payload) {
    try {
        co_await handle.call(topic, std::move(payload));
    } catch (const Error& error) {
        if (error.errnum() != ENOSYS) throw;
    }
}

} // namespace

Updates::Verdict Updates::ask_plugins(const Job& job, JsonView updates, const Credentials& credentials) const {
    Verdict verdict;
    verdict.updates = updates.copy();
    for (auto [key, value] : updates.members()) {
        JobtapUpdate update;
        update.key = key;
        update.value = value;
        update.updates = updates;
        update.credentials = credentials;
        if (!core_.plugins.any([&](JobtapPlugin& plugin) { return plugin.job_update_key(view_of(job), update); }))
            throw Error(EINVAL, fmt::format("update of {} not supported", key));
        verdict.validated &= update.validated;
        verdict.feasibility |= update.feasibility;
        if (update.more.is_object()) verdict.updates.update(update.more);
    }
    return verdict;
}

Job& Updates::updatable(JobId id, const Request& request) const {
    auto* job = core_.find_active(id);
    if (!job) throw Error(EINVAL, "job is inactive");
    require_own(request, *job, "may only update their own jobs");
    if (!request.credentials().owner() && job->immutable)
        throw Error(EPERM, "job is immutable due to previous instance owner update");
    return *job;
}

Task<> Updates::update(Request request) {
    auto id = request.json().get<JobId>("id");
    auto updates = request.json().get<JsonView>("updates");
    if (!updates.is_object()) throw Error(EPROTO, "updates is no object");
    for (auto [path, value] : updates.members()) check_path(path);
    if (!core_.find_active(id)) {
        core_.refuse_absent(request, id, ENOENT, EINVAL);
        co_return;
    }
    std::optional<double> expiration;
    bool skipped = false;
    Verdict verdict;
    Json jobspec;
    {
        auto& job = updatable(id, request);
        verdict = ask_plugins(job, updates, request.credentials());
        jobspec = job.jobspec.copy();
        for (auto [path, value] : verdict.updates.members()) jobspec.set_path(path, value.copy());
        if (!verdict.validated) {
            auto view = view_of(job);
            view.jobspec = jobspec;
            core_.plugins.validate(view);
        }
        skipped = verdict.validated && request.credentials().owner() && request.credentials().userid != job.userid;
        auto duration = verdict.updates[duration_key].try_as<double>();
        if (duration && job.state == JobState::run) expiration = new_expiration(job, *duration);
    }
    if (verdict.feasibility) co_await ask(core_.handle, "feasibility.check", Json::object("jobspec", jobspec.copy()));
    if (expiration) {
        auto topic = std::string(protocol::sched_expiration);
        co_await ask(core_.handle, topic, Json::object("id", id, "expiration", *expiration));
    }
    auto& job = updatable(id, request); // others were at work meanwhile
    if (skipped) core_.engine.post(job, "set-flags", Json::object("flags", Json::array_of("immutable")));
    core_.engine.post(job, "jobspec-update", std::move(verdict.updates));
    if (expiration) core_.engine.post(job, "resource-update", Json::object("expiration", *expiration));
    core_.ledger.then([request] { request.respond(); });
}

void Updates::on_resource_update(const Job& job) {
    auto topic = exec_.expiration_topic();
    auto expiration = job.R.find("execution.expiration").try_as<double>();
    if (topic.empty() || !expiration || job.state != JobState::run) return;
    auto call = core_.handle.call(topic, Json::object("id", job.id, "expiration", *expiration));
    std::move(call).then([this, id = job.id](Message answer) {
        auto* job = core_.find_active(id);
        if (answer.errnum() == 0 || !job) return;
        Exception exception("exec", 1, fmt::format("unable to update expiration: {}", answer.error_text()));
        exception.userid = core_.owner;
        core_.engine.raise(*job, exception);
    });
}

} // namespace flux::job_manager
