#include "waits.hpp"

#include <algorithm>
#include <cerrno>

namespace flux::job_manager {

namespace {

bool same(const Request& a, const Request& b) { return &a.message() == &b.message(); }

Json result_of(const Job& job) {
    bool finished = job.end_event["name"].try_as<std::string_view>() == "finish";
    return Json::object("id", job.id, "success", finished && job.finish_status == 0, "errstr", failure_text(job));
}

} // namespace

void Waits::on_job(const Job& job) {
    if (job.active())
        ++open_;
    else
        ended_.emplace(job.last_event, job.id);
}

void Waits::wait(Request request) {
    auto id = request.json().get<JobId>("id");
    if (id == JobId::any()) {
        if (!ended_.empty()) return collect(*core_.jobs.find(ended_.begin()->second), std::move(request));
        if (open_ <= for_job_.size() + for_any_.size()) throw Error(ECHILD, "there are no more waitable jobs");
        for_any_.push_back(std::move(request));
        return;
    }
    auto* job = core_.jobs.find(id);
    if (!job) throw Error(ECHILD, "invalid job id, or job may be inactive and not waitable");
    if (!job->waitable()) throw Error(ECHILD, "job was not submitted as waitable");
    if (ended_.contains({job->last_event, id})) return collect(*job, std::move(request));
    if (!for_job_.try_emplace(id, request).second) throw Error(ECHILD, "job id already has a waiter");
}

void Waits::on_ended(Job& job) {
    --open_;
    ended_.emplace(job.last_event, job.id);
    Request request;
    if (auto waiter = for_job_.find(job.id); waiter != for_job_.end()) {
        request = std::move(waiter->second);
        for_job_.erase(waiter);
    } else if (!for_any_.empty()) {
        request = std::move(for_any_.front());
        for_any_.pop_front();
    } else {
        return;
    }
    collect(job, std::move(request));
}

void Waits::collect(Job& job, Request request) {
    auto result = std::make_shared<Json>(result_of(job));
    collecting_.push_back({std::move(request), result});
    core_.ledger.transaction().unlink(active_key(job.id));
    core_.ledger.then([this, result] {
        auto found = std::find_if(collecting_.begin(), collecting_.end(),
                                  [&](const Collecting& entry) { return entry.result == result; });
        auto request = std::move(found->request);
        collecting_.erase(found);
        request.respond(std::move(*result));
    });
    ended_.erase({job.last_event, job.id});
    on_collected_(job);
}

void Waits::disconnect(const Request& request) {
    auto gone = [&](const Request& waiting) { return waiting.same_sender(request) && (waiting.drop(), true); };
    std::erase_if(for_job_, [&](auto& entry) { return gone(entry.second); });
    std::erase_if(for_any_, gone);
}

std::optional<Json> Waits::park(const Request& request) {
    for (auto& [id, waiting] : for_job_) {
        if (same(waiting, request)) return Json::object();
    }
    for (auto& waiting : for_any_) {
        if (same(waiting, request)) return Json::object();
    }
    for (auto& entry : collecting_) {
        if (same(entry.request, request)) return Json::object("result", entry.result->copy());
    }
    return std::nullopt;
}

void Waits::resume(Request request, JsonView cursor) {
    if (auto result = cursor["result"])
        request.respond(result.copy());
    else
        wait(std::move(request));
}

} // namespace flux::job_manager
