#include "execution.hpp"

#include <flux/hostlist.hpp>

#include <sys/wait.h>

namespace flux::job_exec {
namespace {

int exit_status(int code) { return code << 8; }

} // namespace

std::string Job::hosts(const Idset& ranks) const {
    Hostlist list;
    for (auto rank : ranks) {
        const auto& host = resources.host(rank);
        if (!list.contains(host)) list.push_back(host);
    }
    return list.encode();
}

void Execution::init() {
    orders_.events.emplace_back("init");
    orders_.events.emplace_back("starting");
}

void Execution::take_over(const Past& past, bool reattach, Time now) {
    orders_.events.emplace_back(past.begun ? "reattach" : "init");
    if (!past.begun) orders_.events.emplace_back("starting");
    fatal_ = past.fatal;
    wait_status_ = past.fatal_wait_status;
    if (past.started) started_ = true;
    if (past.started && reattach) orders_.answers.emplace_back("reattached", Json::object());
    if (!past.complete) return resume(past, reattach, now);
    finished_ = true;
    status_ = *past.complete;
    orders_.events.clear();
    if (!past.done) orders_.events.emplace_back("done");
    orders_.answers.emplace_back("finish", Json::object("status", status_));
}

void Execution::answer_again(const Past& past, bool reattach) {
    if (started_) orders_.answers.emplace_back(reattach ? "reattached" : "start", Json::object());
    if (!past.fatal && !raised_.is_null()) orders_.answers.emplace_back("exception", raised_.copy());
    if (finished_) orders_.answers.emplace_back("finish", Json::object("status", status_));
}

void Execution::fail(const std::string& note, Time now) { raise("exec", 0, note, now); }

void Execution::raise(const std::string& type, int severity, const std::string& note, Time now) {
    if (severity == 0 && fatal_) return;
    auto data = Json::object("type", type, "severity", severity, "note", note);
    if (severity == 0) raised_ = data.copy();
    orders_.answers.emplace_back("exception", std::move(data));
    if (severity > 0) return;
    fatal_ = true;
    on_fatal(type, now);
}

void Execution::on_exception(std::string_view type, int severity, std::optional<int> wait_status, Time now) {
    if (severity > 0 || finished_) return;
    if (!fatal_) wait_status_ = wait_status;
    fatal_ = true;
    on_fatal(type, now);
}

void Execution::start() {
    started_ = true;
    orders_.answers.emplace_back("start", Json::object());
}

void Execution::finish(int status) {
    if (wait_status_ && WIFSIGNALED(*wait_status_))
        status = exit_status(128 + WTERMSIG(*wait_status_));
    else if (wait_status_)
        status = exit_status(WEXITSTATUS(*wait_status_));
    if (fatal_ && status == 0) status = exit_status(1);
    finished_ = true;
    status_ = status;
    orders_.events.emplace_back("complete", Json::object("status", status));
    orders_.events.emplace_back("done");
    orders_.answers.emplace_back("finish", Json::object("status", status));
}

Orders Execution::take_orders(Time now) {
    if (!finished_) settle(now);
    return std::exchange(orders_, Orders());
}

Json Execution::stats() const {
    return Json::object("multiuser", job_.guest ? 1 : 0, "exception_in_progress", fatal_ ? 1 : 0, "started",
                        started_ ? 1 : 0, "running", started_ && !finished_ ? 1 : 0, "finalizing", finished_ ? 1 : 0,
                        "expiration", job_.resources.expiration);
}

} // namespace flux::job_exec
