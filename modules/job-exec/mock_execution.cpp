#include "mock_execution.hpp"

#include <flux/duration.hpp>

#include <cerrno>

namespace flux::job_exec {
namespace {

bool flag(JsonView test, const char* key) { return test.get_or(key, 0) != 0; }

} // namespace

MockExecution::MockExecution(const Job& job, const Settings& settings) : Execution(job, settings) {
    if (job.guest && !settings.guests_may_mock) throw Error(EPERM, "guests may not use test execution");
    auto test = job.jobspec.find("attributes.system.exec.test");
    double seconds = 0;
    bool timed = true;
    if (auto text = test.get_optional<std::string_view>("run_duration"))
        seconds = parse_duration(*text);
    else if (auto duration = job.jobspec.find("attributes.system.duration").try_as<double>())
        seconds = *duration;
    else
        timed = false;
    if (!timed)
        run_time_ = Duration{};
    else if (seconds > 0)
        run_time_ = to_duration(seconds);
    status_ = test.get_or("wait_status", 0);
    exception_ = test.get_or<std::string>("mock_exception", "");
    override_ = flag(test, "override");
    finish_when_reattached_ = flag(test, "reattach_finish");
}

void MockExecution::begin(Time now) {
    if (exception_ == "init") return fail("mock init exception generated", now);
    orders_.events.emplace_back("recoverable");
    if (override_) return;
    run(now);
    if (exception_ == "run") fail("mock starting exception generated", now);
}

void MockExecution::run(Time since) {
    start();
    if (run_time_ && !override_) end_ = since + *run_time_;
    over_ = run_time_ == Duration{} && !override_;
}

void MockExecution::resume(const Past& past, bool reattach, Time now) {
    if (past.fatal || (reattach && finish_when_reattached_)) {
        over_ = true;
    } else if (past.started) {
        if (run_time_ && !override_) end_ = past.started_at + *run_time_;
    } else {
        begin(now);
    }
}

void MockExecution::on_fatal(std::string_view, Time) { over_ = true; }

void MockExecution::override_event(std::string_view event, int status, Time now) {
    if (!override_) throw Error(EINVAL, "job is not in override mode");
    if (event == "start") {
        if (started_) throw Error(EINVAL, "job is already running");
        run(now);
    } else if (event == "finish") {
        if (!started_) throw Error(EINVAL, "job is not running");
        status_ = status;
        over_ = true;
    } else {
        throw Error(EINVAL, "unknown event '" + std::string(event) + "'");
    }
}

std::optional<Time> MockExecution::deadline() const { return end_; }

void MockExecution::on_time(Time now) {
    if (end_ && *end_ <= now) over_ = true;
}

void MockExecution::settle(Time) {
    if (!over_) return;
    end_.reset();
    finish(fatal() ? 0 : status_);
}

Json MockExecution::stats() const {
    auto stats = Execution::stats();
    stats.set("implementation", "testexec");
    stats.set("critical_ranks", Idset::below(static_cast<Idset::Id>(job_.size())).encode());
    return stats;
}

} // namespace flux::job_exec
