// .limit-job-size and .limit-duration: the policy of the instance and of queues says how much a job may ask for
// (jobs.md 5.8).
#include "builtins.hpp"

#include <flux/duration.hpp>
#include <flux/jobspec.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <string>

namespace flux::job_manager {

namespace {

// The nearest setting counts: the queue's, its parent's, the instance's.
JsonView policy_of(JsonView config, const std::string& queue, std::string_view path) {
    auto inside = fmt::format("policy.limits.{}", path);
    auto own = config["queues"][queue];
    if (auto found = own.find(inside)) return found;
    if (auto parent = own["parent"].try_as<std::string>()) {
        if (auto found = config["queues"][*parent].find(inside)) return found;
    }
    return config.find(inside);
}

std::string for_queue(const std::string& queue) {
    return queue.empty() ? std::string() : fmt::format(" for queue {}", queue);
}

// Seconds; 0 is no limit.
double duration_limit(JsonView value) {
    if (!value) return 0;
    auto text = value.try_as<std::string>();
    if (!text) throw Error(EINVAL, "policy.limits.duration must be a string");
    return parse_duration(*text);
}

class LimitDuration final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    void conf_update(JsonView config) override {
        duration_limit(config.find("policy.limits.duration"));
        for (auto [name, queue] : config["queues"].members()) duration_limit(queue.find("policy.limits.duration"));
    }
    void job_validate(const JobtapJob& job) override {
        JobspecView jobspec(job.jobspec);
        auto queue = jobspec.queue();
        auto limit = duration_limit(policy_of(host().config(), queue, "duration"));
        auto duration = jobspec.duration();
        if (limit == 0 || (duration > 0 && duration <= limit)) return;
        throw Error(EINVAL, fmt::format("requested duration ({}) exceeds policy limit of {}{}",
                                        duration > 0 ? format_duration(duration, 2) : "unlimited",
                                        format_duration(limit, 2), for_queue(queue)));
    }
};

class LimitJobSize final : public JobtapPlugin {
public:
    using JobtapPlugin::JobtapPlugin;
    void job_validate(const JobtapJob& job) override {
        auto config = host().config();
        if (!config.find("policy.limits.job-size") && config["queues"].empty()) return;
        JobspecView jobspec(job.jobspec);
        auto queue = jobspec.queue();
        auto shape = jobspec.shape();
        auto check = [&](std::string_view name, std::int64_t asked) {
            auto limit = [&](const char* which) {
                auto path = fmt::format("job-size.{}.{}", which, name);
                return policy_of(config, queue, path).try_as<std::int64_t>().value_or(-1);
            };
            if (auto max = limit("max"); max >= 0 && asked > max)
                throw Error(EINVAL, fmt::format("requested {} ({}) exceeds policy limit of {}{}", name, asked, max,
                                                for_queue(queue)));
            if (auto min = limit("min"); min >= 0 && asked < min)
                throw Error(EINVAL, fmt::format("requested {} ({}) is under policy limit of {}{}", name, asked, min,
                                                for_queue(queue)));
        };
        if (shape.nnodes > 0) check("nnodes", shape.nnodes);
        check("ncores", shape.ncores());
        check("ngpus", shape.ngpus());
    }
};

} // namespace

std::unique_ptr<JobtapPlugin> make_limit_duration(JobtapHost& host) { return std::make_unique<LimitDuration>(host); }
std::unique_ptr<JobtapPlugin> make_limit_job_size(JobtapHost& host) { return std::make_unique<LimitJobSize>(host); }

} // namespace flux::job_manager
