// A scheduler module (RFC 27): moves messages between resource, job-manager and the scheduler core. Which jobs hold
// what is learned by hello, whenever the job manager or the resources are new; nothing here is durable.
#pragma once

#include "core/scheduler.hpp"
#include "service/options.hpp"

#include <flux/kvs_writer.hpp>
#include <flux/module.hpp>
#include <flux/service_watch.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flux::sched_service {

using sched::Action;
using sched::Actions;
using sched::Policy;
using sched::Scheduler;

class Service : public Module {
public:
    Task<> start() override;
    Task<> stop() override;
    Json stats() override;
    void debug_changed(std::uint64_t bits) override;

protected:
    Service(ModuleContext& context, std::string default_depth);

private:
    virtual std::unique_ptr<Policy> make_policy() const = 0;

    // Resources.
    Task<> follow_resources();
    void change_resources(JsonView change);

    // The job manager.
    Task<> greet_when_needed();
    Task<> greet();
    Task<> take_over_jobs();
    void reject(JobId id, const Error& error);
    void begin_anew();

    // Its messages.
    void alloc(Request request);
    void cancel(Request request);
    void prioritize(Request request);
    void free(Request request);
    void expiration(Request request);
    void resource_status(Request request);
    Task<> check_feasible(Request request);

    // Scheduling.
    void schedule_soon();
    void schedule();
    void forecast();
    void carry_out(Actions actions);
    void grant(Action action);
    void answer(const Action& action);

    std::string default_depth_;
    std::optional<Options> options_;
    std::uint64_t debug_ = 0;

    std::optional<ResourceSet> resources_; // while resource tells what becomes of them
    Idset up_;
    std::uint64_t news_ = 0; // grows whenever hello has to be said again
    Condition changed_;

    std::unique_ptr<Scheduler> scheduler_; // once there are resources
    bool ready_ = false;                   // it knows what jobs hold
    std::vector<Request> early_frees_;     // of jobs that hello has not told of yet
    std::unordered_map<JobId, Request> requests_;

    bool scheduling_ = false; // a pass is posted
    Timer forecast_timer_;
    std::uint64_t passes_ = 0;
    std::uint64_t yields_ = 0;
    std::uint64_t forecasts_ = 0;
    double pass_time_ = 0; // seconds, a moving average
    std::chrono::nanoseconds last_forecast_{};
    kvs::Writer writer_;
    std::optional<ServiceWatch> resource_;
    std::optional<ServiceWatch> job_manager_;
};

} // namespace flux::sched_service
