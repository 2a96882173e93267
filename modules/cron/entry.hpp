// One entry of the table: what runs, what triggers it, what became of it. Pure: times come from the caller.
#pragma once

#include "calendar.hpp"

#include <flux/json.hpp>

#include <deque>
#include <optional>
#include <string>

namespace flux::cron {

/// One run of an entry's command.
class Run {
public:
    Run() = default;
    Run(std::uint32_t rank, double now) : rank(rank), created(now) {}
    static Run from_json(JsonView json);
    Json to_json() const;
    bool active() const noexcept { return state == "Deferred" || state == "Running"; }

    std::uint32_t rank = 0;
    std::int64_t pid = -1;
    int status = 0;
    std::string state = "Deferred";
    double created = 0, started = 0, running = 0, ended = 0;
    std::optional<int> launch_errnum;
    std::optional<int> code;
    bool timed_out = false;
};

class Entry {
public:
    /// \param request  of `cron.create`. \throws Error EPROTO, EINVAL, ENOSYS
    Entry(std::int64_t id, JsonView request, double now);
    /// As record() had it.
    static Entry from_record(JsonView record);
    /// What is durable of it.
    Json record() const;
    /// What clients are told.
    Json to_json() const;

    std::int64_t id() const noexcept { return id_; }
    const std::string& name() const noexcept { return name_; }
    const std::string& command() const noexcept { return command_; }
    std::uint32_t rank() const noexcept { return rank_; }
    double timeout() const noexcept { return timeout_; }
    JsonView request() const noexcept { return request_; }
    bool stopped() const noexcept { return stopped_; }
    /// The topic that triggers it, if it is one that events trigger.
    std::optional<std::string> topic() const;
    /// The run under way or deferred.
    Run* current() noexcept { return !runs_.empty() && runs_.front().active() ? &runs_.front() : nullptr; }

    /// \throws Error EINVAL when it is so already
    void start(double now);
    void stop();
    /// When it is due by the clock; nothing when it is not.
    std::optional<double> next_wakeup() const noexcept { return stopped_ ? std::nullopt : wakeup_; }
    /// The clock has reached next_wakeup(): sets the next one.
    void woken(double now);
    /// An event came. True when it is due now.
    bool count_event(double now);

    /// It is due: a run is made and waits for its turn. Nothing when one is under way. Stops the entry at its limit.
    Run* schedule(double now);
    void deferred() noexcept { ++deferred_; }
    /// The current run ended with this wait status, or could not be started. True when it was a success.
    bool finish(double now, std::optional<int> status, int launch_errnum = 0);
    /// How the last run ended, for the log: `Failed: Exit 1`.
    std::string verdict() const;

private:
    enum class Type { interval, event, datetime };

    void read_type();
    void arm(double now);
    Json type_data() const;

    std::int64_t id_ = 0;
    Json request_;
    std::string name_, command_;
    std::uint32_t rank_ = 0;
    std::int64_t repeat_ = 0, keep_ = 1, stop_on_failure_ = 0;
    double timeout_ = -1;
    bool stopped_ = false;

    Type type_ = Type::interval;
    double interval_ = 0, after_ = 0;              // interval
    std::int64_t nth_ = 0, skip_ = 0, events_ = 0; // event
    double min_interval_ = 0;
    std::optional<Calendar> calendar_; // datetime
    std::optional<double> wakeup_;

    double created_ = 0, start_time_ = 0, last_run_ = 0;
    std::int64_t count_ = 0, fail_count_ = 0, total_ = 0, success_ = 0, failure_ = 0, deferred_ = 0;
    std::deque<Run> runs_; // newest first
};

} // namespace flux::cron
