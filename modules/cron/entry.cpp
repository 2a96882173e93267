#include "entry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <sys/wait.h>

namespace flux::cron {
namespace {

constexpr const char* type_names[] = {"interval", "event", "datetime"};
constexpr std::int64_t most_runs_kept = 1000;

double positive(JsonView args, const char* key) {
    auto value = args.get<double>(key);
    if (!(value > 0) || !std::isfinite(value)) throw Error(EINVAL, fmt::format("cron: {} must be above 0", key));
    return value;
}

} // namespace

Run Run::from_json(JsonView json) {
    Run run(json.get<std::uint32_t>("rank"), json.get<double>("create-time"));
    run.pid = json.get<std::int64_t>("pid");
    run.status = json.get<int>("status");
    run.state = json.get<std::string>("state");
    run.launch_errnum = json.get_optional<int>("rexec_errno");
    run.timed_out = json.get_or("timedout", false);
    run.code = json.get_optional<int>("code");
    run.started = json.get_or("start-time", 0.0);
    run.running = json.get_or("running-time", 0.0);
    run.ended = json.get_or("end-time", 0.0);
    return run;
}

Json Run::to_json() const {
    auto json = Json::object("rank", rank, "pid", pid, "status", status, "state", state, "create-time", created);
    if (launch_errnum) json.set("rexec_errno", *launch_errnum);
    if (timed_out) json.set("timedout", true);
    if (code) json.set("code", *code);
    if (started > 0) json.set("start-time", started);
    if (running > 0) json.set("running-time", running);
    if (ended > 0) json.set("end-time", ended);
    return json;
}

Entry::Entry(std::int64_t id, JsonView request, double now)
    : id_(id),
      request_(request.copy()),
      name_(request.get<std::string>("name")),
      command_(request.get<std::string>("command")),
      rank_(request.get_or<std::uint32_t>("rank", 0)),
      repeat_(request.get_or<std::int64_t>("repeat", 0)),
      keep_(std::clamp<std::int64_t>(request.get_or<std::int64_t>("task-history-count", 1), 1, most_runs_kept)),
      stop_on_failure_(request.get_or<std::int64_t>("stop-on-failure", 0)),
      timeout_(request.get_or("timeout", -1.0)),
      created_(now) {
    (void)request.get_or<std::string>("cwd", "");
    for (auto [key, value] : request["environ"].members())
        if (!value.is_string()) throw Error(EPROTO, fmt::format("cron: environ.{}: expected string", key));
    read_type();
    stopped_ = true;
    start(now);
}

void Entry::read_type() {
    auto name = request_.get<std::string_view>("type");
    auto args = request_.get<JsonView>("args");
    if (!args.is_object()) throw Error(EPROTO, "cron: args: expected object");
    auto found = std::find(std::begin(type_names), std::end(type_names), name);
    if (found == std::end(type_names)) throw Error(ENOSYS, fmt::format("cron: unknown type '{}'", name));
    type_ = static_cast<Type>(found - std::begin(type_names));
    switch (type_) {
    case Type::interval:
        interval_ = positive(args, "interval");
        after_ = args.contains("after") ? args.get<double>("after") : interval_;
        if (!(after_ >= 0) || !std::isfinite(after_)) throw Error(EINVAL, "cron: after must not be below 0");
        return;
    case Type::event:
        if (args.get<std::string_view>("topic").empty()) throw Error(EINVAL, "cron: topic is empty");
        nth_ = args.get_or<std::int64_t>("nth", 0);
        skip_ = args.get_or<std::int64_t>("after", 0);
        min_interval_ = args.get_or("min_interval", 0.0);
        return;
    case Type::datetime: calendar_.emplace(args); return;
    }
}

std::optional<std::string> Entry::topic() const {
    if (type_ != Type::event) return std::nullopt;
    return request_["args"].get<std::string>("topic");
}

// Triggers ------------------------------------------------------------------------------------------------------

void Entry::start(double now) {
    if (!stopped_) throw Error(EINVAL, fmt::format("cron-{} is started", id_));
    stopped_ = false;
    count_ = fail_count_ = events_ = 0;
    start_time_ = now;
    arm(now);
}

void Entry::stop() {
    if (stopped_) throw Error(EINVAL, fmt::format("cron-{} is stopped", id_));
    stopped_ = true;
    wakeup_.reset();
}

void Entry::arm(double now) {
    wakeup_.reset();
    if (type_ == Type::interval) wakeup_ = now + after_;
    if (type_ != Type::datetime) return;
    wakeup_ = calendar_->next_after(now);
    stopped_ = !wakeup_;
}

void Entry::woken(double now) {
    if (type_ != Type::interval) return arm(now);
    auto next = wakeup_.value_or(now) + interval_;
    wakeup_ = next > now ? next : now + interval_; // what was missed runs once
}

bool Entry::count_event(double now) {
    if (stopped_) return false;
    ++events_;
    if (events_ < skip_ || (nth_ > 0 && (events_ - skip_) % nth_ != 0)) return false;
    if (now >= last_run_ + min_interval_) return true;
    wakeup_ = last_run_ + min_interval_;
    return false;
}

// Runs ----------------------------------------------------------------------------------------------------------

Run* Entry::schedule(double now) {
    if (current()) return nullptr;
    last_run_ = now;
    runs_.emplace_front(rank_, now);
    while (runs_.size() > static_cast<std::size_t>(keep_)) runs_.pop_back();
    if (++count_ == repeat_) {
        stopped_ = true;
        wakeup_.reset();
    }
    return &runs_.front();
}

bool Entry::finish(double now, std::optional<int> status, int launch_errnum) {
    auto& run = runs_.front();
    run.ended = now;
    run.status = status.value_or(0);
    if (status) run.code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
    if (!status) run.launch_errnum = launch_errnum;
    bool success = status && *status == 0;
    run.state = run.timed_out ? "Timeout" : success ? "Exited" : status ? "Failed" : "Rexec Failure";
    ++total_;
    ++(success ? success_ : failure_);
    if (!success && ++fail_count_ == stop_on_failure_ && !stopped_) stop();
    return success;
}

std::string Entry::verdict() const {
    const auto& run = runs_.front();
    if (run.launch_errnum) return fmt::format("{}: {}", run.state, errno_text(*run.launch_errnum));
    if (WIFSIGNALED(run.status)) return fmt::format("{}: {}", run.state, ::strsignal(WTERMSIG(run.status)));
    return fmt::format("{}: Exit {}", run.state, WEXITSTATUS(run.status));
}

// JSON ----------------------------------------------------------------------------------------------------------

Json Entry::type_data() const {
    switch (type_) {
    case Type::interval: {
        auto data = Json::object("interval", interval_, "after", after_);
        data.set("next_wakeup", wakeup_.value_or(0));
        return data;
    }
    case Type::event:
        return Json::object("topic", *topic(), "nth", nth_, "after", skip_, "min_interval", min_interval_, "counter",
                            events_);
    case Type::datetime: {
        auto data = calendar_->to_json();
        data.set("next_wakeup", wakeup_.value_or(0));
        return data;
    }
    }
    return Json::object();
}

Json Entry::to_json() const {
    auto stats =
        Json::object("ctime", created_, "starttime", start_time_, "lastrun", last_run_, "count", count_, "failcount",
                     fail_count_, "total", total_, "success", success_, "failure", failure_, "deferred", deferred_);
    auto json = Json::object("id", id_, "rank", rank_, "name", name_, "command", command_, "repeat", repeat_, "stopped",
                             stopped_, "type", type_names[static_cast<int>(type_)]);
    if (timeout_ >= 0) json.set("timeout", timeout_);
    auto runs = Json::array();
    for (const auto& run : runs_) runs.append(run.to_json());
    json.set("stats", std::move(stats));
    json.set("typedata", type_data());
    json.set("tasks", std::move(runs));
    return json;
}

Json Entry::record() const {
    auto record = Json::object("request", request_.copy(), "entry", to_json());
    record.set("wakeup", wakeup_.value_or(0));
    return record;
}

Entry Entry::from_record(JsonView record) {
    auto json = record.get<JsonView>("entry");
    auto stats = json.get<JsonView>("stats");
    Entry entry(json.get<std::int64_t>("id"), record.get<JsonView>("request"), stats.get<double>("ctime"));
    entry.start_time_ = stats.get<double>("starttime");
    entry.last_run_ = stats.get<double>("lastrun");
    entry.count_ = stats.get<std::int64_t>("count");
    entry.fail_count_ = stats.get<std::int64_t>("failcount");
    entry.total_ = stats.get<std::int64_t>("total");
    entry.success_ = stats.get<std::int64_t>("success");
    entry.failure_ = stats.get<std::int64_t>("failure");
    entry.deferred_ = stats.get<std::int64_t>("deferred");
    entry.events_ = json["typedata"].get_or<std::int64_t>("counter", 0);
    entry.stopped_ = json.get<bool>("stopped");
    auto wakeup = record.get<double>("wakeup");
    entry.wakeup_ = wakeup > 0 ? std::optional(wakeup) : std::nullopt;
    for (auto run : json.get<JsonView>("tasks").elements()) entry.runs_.push_back(Run::from_json(run));
    return entry;
}

} // namespace flux::cron
