// A job that only pretends to run: `attributes.system.exec.test` (jobs.md 9.11).
#pragma once

#include "execution.hpp"

namespace flux::job_exec {

class MockExecution final : public Execution {
public:
    /// \throws Error EPROTO, EINVAL when the attribute is malformed, EPERM for guests.
    MockExecution(const Job& job, const Settings& settings);
    static bool wanted(const Job& job) { return job.jobspec.find("attributes.system.exec.test").is_object(); }

    void begin(Time now) override;
    std::optional<Time> deadline() const override;
    void on_time(Time now) override;
    Json stats() const override;

    /// \throws Error EINVAL
    void override_event(std::string_view event, int status, Time now);

private:
    void settle(Time now) override;
    void resume(const Past& past, bool reattach, Time now) override;
    void on_fatal(std::string_view type, Time now) override;
    void run(Time since);

    std::optional<Duration> run_time_; // nothing: until somebody ends it
    int status_ = 0;
    std::string exception_;
    bool override_ = false;
    bool finish_when_reattached_ = false;

    std::optional<Time> end_;
    bool over_ = false;
};

} // namespace flux::job_exec
