// The scheduler: protocol events in, actions out. It knows no messages, no clock and no loop; nothing in it is durable,
// hello rebuilds it.
//
// Events only change what is known; run() then decides. So whoever feeds it may gather the events of a whole turn
// before one pass.
#pragma once

#include "core/policy.hpp"

#include <flux/idset.hpp>
#include <flux/job_id.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flux::sched {

class Scheduler {
public:
    static constexpr std::size_t unlimited = SIZE_MAX;

    /// `resources` and what is `up` of it are the first answer of resource.acquire. \throws Error EINVAL
    Scheduler(std::unique_ptr<Policy> policy, ResourceSet resources, const Idset& up);

    // Later answers of resource.acquire.
    void mark_up(const Idset& ranks);
    void mark_down(const Idset& ranks);
    void shrink(const Idset& ranks);
    void set_pool_expiration(double expiration);

    /// A job that holds R (without the ranks that it gave back already). What the instance does not have is ignored:
    /// jobs outlive a change of configuration. \throws Error EEXIST when another job holds some of it.
    void hello(JobId id, const ResourceSet& R);
    /// A job wants resources. Answers at once only when it cannot be served ever. \throws Error EEXIST for a known job.
    Actions alloc(JobId id, std::uint32_t priority, JsonView jobspec);
    /// Withdraws a pending request; nothing happens when it was answered already.
    Actions cancel(JobId id);
    void prioritize(const std::vector<std::pair<JobId, std::uint32_t>>& jobs);
    /// A job gives back whole ranks, with `final` all it has. What does not agree with our books is returned as a text
    /// to be logged; resources never stay booked because of it.
    std::string free(JobId id, const Idset& ranks, bool final);
    /// The time limit of a running job moves. \throws Error EINVAL
    void set_expiration(JobId id, double expiration);
    /// feasibility.check. \throws Error EINVAL (not understood), EOVERFLOW (can never run)
    void check_feasible(JsonView jobspec);

    /// One scheduling pass, ended after `limit` starts; then another one is needed.
    Actions run(double now, std::size_t limit = unlimited);
    /// New start estimates of pending jobs, where the policy keeps order. Costly; for when nothing else is to do.
    Actions forecast(double now);

    // Debug bits.
    void deny_all(bool on) noexcept { deny_all_ = on; }
    void annotate_pending(bool on) noexcept { annotate_pending_ = on; }

    ResourceSet all() const { return state_.pool.all(); }
    ResourceSet down() const { return state_.pool.down(); }
    ResourceSet allocated() const { return state_.pool.allocated(); }
    std::size_t pending() const noexcept { return state_.queue.size(); }
    std::size_t running() const noexcept { return state_.running.size(); }

private:
    std::shared_ptr<const NodeSet> admitted(const std::string& constraint);
    void annotate_waiting(Actions& out);

    State state_;
    std::unique_ptr<Policy> policy_;
    // Compiling a constraint looks at every node, and users repeat themselves.
    std::map<std::string, std::shared_ptr<const NodeSet>> admitted_;
    bool deny_all_ = false;
    bool annotate_pending_ = false;
};

} // namespace flux::sched
