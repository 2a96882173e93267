#include "exec.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/format.h>

#include <cerrno>

namespace flux::job_manager {

namespace protocol = job_manager_protocol;

void Exec::hello(Request request) {
    auto service = request.json().get<std::string>("service");
    if (service.empty()) throw Error(EPROTO, "empty service name");
    close("another execution service says hello");
    sender_ = request.sender();
    service_ = std::move(service);
    core_.handle.on_untagged(service_ + std::string(protocol::exec_start),
                             [this](const Message& message) { on_answer(message); });
    request.respond();
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->settled()) on_settled(*job);
    }
}

void Exec::disconnect(const Request& request) {
    if (!sender_.empty() && request.sender() == sender_) close("disconnected");
}

std::string Exec::expiration_topic() const {
    return sender_.empty() ? std::string() : service_ + std::string(protocol::exec_expiration);
}

void Exec::close(std::string_view why) {
    if (sender_.empty()) return;
    core_.handle.log(LogLevel::info, fmt::format("{}: {}", service_, why));
    sender_.clear();
    for (auto& [id, job] : core_.jobs.all()) {
        if (job->shells != Shells::pending) continue;
        job->shells = Shells::maybe;
        if (job->debug) core_.engine.post(*job, "debug.start-lost", Json::object("note", why));
    }
}

void Exec::on_settled(Job& job) {
    if (sender_.empty() || job.shells == Shells::pending || job.shells == Shells::gone) return;
    bool ended = job.state == JobState::cleanup && job.shells == Shells::maybe;
    bool begins = job.state == JobState::run && job.prologs == 0 && !core_.engine.queued(job.id, "prolog-start");
    if (!ended && !begins) return;
    job.shells = Shells::pending;
    bool reattach = ended || job.started;
    core_.handle.send_untagged(service_ + std::string(protocol::exec_start),
                               Json::object("id", job.id, "userid", job.userid, "jobspec", job.jobspec.copy(), "R",
                                            job.R.copy(), "reattach", reattach));
    if (job.debug) core_.engine.post(job, reattach ? "debug.exec-reattach-start" : "debug.start-request");
}

void Exec::on_answer(const Message& message) {
    if (sender_.empty()) return; // of a service that was given up
    try {
        message.throw_if_failed();
        auto answer = message.json();
        auto id = answer.get<JobId>("id");
        auto type = answer.get<std::string_view>("type");
        auto* job = core_.jobs.find(id);
        if (job && job->shells == Shells::pending)
            apply(*job, type, answer.get<JsonView>("data"));
        else
            core_.handle.log(LogLevel::err,
                             fmt::format("{}: '{}' of {}, which was not started, ignoring", service_, type, id.f58()));
    } catch (const Error& error) {
        close(error.what());
    }
}

// Whoever takes shells over may tell again what was told before.
void Exec::apply(Job& job, std::string_view type, JsonView data) {
    if (type == "start") {
        if (!job.started) core_.engine.post(job, "start");
    } else if (type == "reattached") {
        if (job.debug) core_.engine.post(job, "debug.exec-reattach-finish");
    } else if (type == "exception") {
        Exception exception(data.get<std::string>("type"), data.get<int>("severity"),
                            data.get_or<std::string>("note", ""));
        exception.userid = core_.owner;
        core_.engine.post(job, "exception", exception_context(exception));
    } else if (type == "finish") {
        auto status = data.get<int>("status");
        if (!job.finish_status) core_.engine.post(job, "finish", Json::object("status", status));
    } else if (type == "release") {
        auto ranks = data.get<std::string>("ranks");
        bool final = data.get<bool>("final");
        bool known = !final && ranks != "all" && job.released.includes(Idset::parse(ranks));
        if (final) job.shells = Shells::gone;
        if (final && job.state == JobState::run) {
            Exception exception("exec", 0, "the execution service gave the job up without a finish status");
            exception.userid = core_.owner;
            core_.engine.post(job, "exception", exception_context(exception));
        }
        if (!known) core_.engine.post(job, "release", Json::object("ranks", ranks, "final", final));
    } else {
        throw Error(EPROTO, fmt::format("unknown type '{}' of a start response", type));
    }
}

} // namespace flux::job_manager
