#include "control.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>

namespace flux::job_manager {

namespace protocol = job_manager_protocol;

namespace {

Exception read_exception(const Request& request) {
    auto payload = request.json();
    Exception exception(payload.get<std::string>("type"), payload.get<int>("severity"),
                        payload.get_or<std::string>("note", ""));
    if (exception.severity < 0 || exception.severity > 7) throw Error(EPROTO, "invalid exception severity");
    bool bad = exception.type.empty() || std::any_of(exception.type.begin(), exception.type.end(), [](char c) {
                   return c == '=' || std::isspace(static_cast<unsigned char>(c));
               });
    if (bad) throw Error(EPROTO, "invalid exception type");
    exception.userid = request.credentials().userid;
    exception.wait_status = payload.get_optional<int>("wait_status");
    return exception;
}

void check_signal(int signum) {
    if (signum <= 0 || signum > SIGRTMAX) throw Error(EINVAL, "Invalid signal number");
}

} // namespace

void publish_exception(Handle& handle, const Job& job, const EventlogEntry& entry) {
    auto payload = Json::object("id", job.id, "type", entry.context["type"], "severity", entry.context["severity"]);
    if (auto status = entry.context["wait_status"]) payload.set("wait_status", status.copy());
    handle.publish(protocol::job_exception_event, std::move(payload), flag_private);
}

void Control::respond(const Request& request, Json payload) {
    auto answer = payload.is_null() ? Payload() : Payload::from_json(std::move(payload));
    core_.ledger.then([request, answer] { request.respond(answer); });
}

void Control::raise(Request request) {
    auto exception = read_exception(request);
    auto id = request.json().get<JobId>("id");
    auto* job = core_.find_active(id);
    if (!job) return core_.refuse_absent(std::move(request), id, ENOENT);
    require_own(request, *job, "can only raise exceptions on their own jobs");
    core_.engine.raise(*job, exception);
    respond(request);
}

// `act(job)` for the active jobs that a request for many names: by user and state.
template <class F> void Control::each_of(const Request& request, int states, F&& act) {
    auto payload = request.json();
    bool dry_run = payload.get<bool>("dry_run");
    auto userid = static_cast<std::uint32_t>(payload.get<std::int64_t>("userid"));
    auto credentials = request.credentials();
    if (!credentials.owner() && userid != credentials.userid)
        throw Error(EPERM, userid == userid_unknown ? "guests may not act on the jobs of all users"
                                                    : "guests may only act on their own jobs");
    std::vector<JobId> ids;
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->active() && job_state_in(job->state, states) && (userid == userid_unknown || job->userid == userid))
            ids.push_back(id);
    }
    if (!dry_run) {
        for (auto id : ids) act(*core_.jobs.find(id));
    }
    respond(request, Json::object("count", ids.size(), "errors", 0));
}

void Control::raiseall(Request request) {
    auto exception = read_exception(request);
    each_of(request, request.json().get<int>("states"), [&](Job& job) { core_.engine.raise(job, exception); });
}

void Control::signal(JobId id, int signum) {
    core_.ledger.then([this, id, signum] {
        core_.handle.publish(protocol::shell_kill_event(id.value()), Json::object("signum", signum));
    });
}

void Control::kill(Request request) {
    auto signum = request.json().get<int>("signum");
    auto id = request.json().get<JobId>("id");
    auto* job = core_.find_active(id);
    if (!job) return core_.refuse_absent(std::move(request), id, EINVAL);
    require_own(request, *job, "can only send signals to their own jobs");
    if (!job_state_in(job->state, job_states_running)) throw Error(EINVAL, "job is not running");
    check_signal(signum);
    signal(id, signum);
    respond(request);
}

void Control::killall(Request request) {
    auto signum = request.json().get<int>("signum");
    check_signal(signum);
    each_of(request, static_cast<int>(JobState::run), [&](Job& job) { signal(job.id, signum); });
}

void Control::urgency(Request request) {
    auto urgency = request.json().get<int>("urgency");
    auto id = request.json().get<JobId>("id");
    if (urgency < urgency_hold || urgency > urgency_expedite)
        throw Error(EINVAL, fmt::format("urgency range is [{}:{}]", urgency_hold, urgency_expedite));
    auto* job = core_.find_active(id);
    if (!job) return core_.refuse_absent(std::move(request), id, EINVAL);
    require_own(request, *job, "can only reprioritize their own jobs");
    auto credentials = request.credentials();
    if (!credentials.owner() && urgency > std::max(urgency_default, job->urgency))
        throw Error(EPERM, fmt::format("guests can only adjust urgency to {} or less",
                                       std::max(urgency_default, job->urgency)));
    if (job->allocated || !job_state_in(job->state, job_states_pending))
        throw Error(EINVAL, "urgency cannot be changed once resources are allocated");
    auto old = job->urgency;
    if (urgency != old)
        core_.engine.post(*job, "urgency", Json::object("userid", credentials.userid, "urgency", urgency));
    respond(request, Json::object("old_urgency", old));
}

void Control::memo(Request request) {
    auto id = request.json().get<JobId>("id");
    auto memo = request.json().get<JsonView>("memo");
    bool is_volatile = request.json().get_or("volatile", false);
    if (!memo.is_object()) throw Error(EPROTO, "memo is no object");
    auto* job = core_.find_active(id);
    if (!job) return core_.refuse_absent(std::move(request), id, ENOENT);
    require_own(request, *job, "can only add memos to their own jobs");
    if (is_volatile) {
        core_.engine.annotate(*job, Json::object("user", memo.copy()));
    } else {
        core_.engine.post(*job, "memo", memo.copy());
    }
    respond(request);
}

} // namespace flux::job_manager
