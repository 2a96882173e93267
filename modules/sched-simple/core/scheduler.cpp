#include "core/scheduler.hpp"

#include "core/timeline.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace flux::sched {
namespace {

// A mask is a bit per node; this bounds the cache at 1.3 MB for 10000 nodes.
constexpr std::size_t max_cached_constraints = 1024;
// Estimates far down the queue are guesswork, and each costs a simulated allocation.
constexpr std::size_t max_forecast = 1000;

} // namespace

Scheduler::Scheduler(std::unique_ptr<Policy> policy, ResourceSet resources, const Idset& up)
    : state_(std::move(resources)), policy_(std::move(policy)) {
    state_.expiration = state_.pool.inventory().resources().expiration;
    state_.pool.mark_up(up);
}

void Scheduler::mark_up(const Idset& ranks) {
    state_.pool.mark_up(ranks);
    ++state_.generation;
}

void Scheduler::mark_down(const Idset& ranks) {
    state_.pool.mark_down(ranks);
    ++state_.generation;
}

void Scheduler::shrink(const Idset& ranks) {
    state_.pool.remove(ranks);
    ++state_.generation;
}

void Scheduler::set_pool_expiration(double expiration) { state_.expiration = expiration; }

void Scheduler::hello(JobId id, const ResourceSet& R) {
    if (state_.running.contains(id)) throw Error(EEXIST, "job " + id.f58() + " is known already");
    state_.running[id] = {state_.pool.book(R), R.expiration};
    ++state_.generation;
}

std::shared_ptr<const NodeSet> Scheduler::admitted(const std::string& constraint) {
    if (constraint.empty()) return nullptr;
    auto found = admitted_.find(constraint);
    if (found != admitted_.end()) return found->second;
    auto json = Json::parse(constraint);
    auto nodes = std::make_shared<const NodeSet>(state_.pool.admitted(Constraint::compile(json)));
    if (admitted_.size() >= max_cached_constraints) admitted_.clear();
    admitted_.emplace(constraint, nodes);
    return nodes;
}

Actions Scheduler::alloc(JobId id, std::uint32_t priority, JsonView jobspec) {
    if (state_.queue.contains(id) || state_.running.contains(id))
        throw Error(EEXIST, "job " + id.f58() + " is known already");
    Actions out;
    if (deny_all_) {
        out.push_back(Action::deny(id, "DEBUG_FAIL_ALLOC"));
        return out;
    }
    try {
        auto request = Request::from_jobspec(jobspec);
        auto nodes = admitted(request.constraint);
        state_.queue.insert(id, priority, request, std::move(nodes));
    } catch (const Error& error) {
        out.push_back(Action::deny(id, std::string("cannot parse jobspec: ") + error.what()));
    }
    return out;
}

Actions Scheduler::cancel(JobId id) {
    Actions out;
    if (state_.queue.erase(id)) out.push_back(Action::cancel(id));
    return out;
}

void Scheduler::prioritize(const std::vector<std::pair<JobId, std::uint32_t>>& jobs) {
    for (auto [id, priority] : jobs) state_.queue.reprioritize(id, priority);
}

std::string Scheduler::free(JobId id, const Idset& ranks, bool final) {
    auto found = state_.running.find(id);
    if (found == state_.running.end()) return fmt::format("free: job {} holds nothing here", id.f58());
    auto& pool = state_.pool;
    auto& allocation = found->second.allocation;
    auto strange = pool.release(allocation, ranks);
    std::string problem;
    if (!strange.empty())
        problem = fmt::format("free: job {} does not hold rank {}", id.f58(), strange.encode_with_brackets());
    if (final) {
        if (!allocation.nodes.empty())
            problem = fmt::format("free: job {} still held {}", id.f58(), pool.describe(allocation).summary());
        pool.release(allocation);
        state_.running.erase(found);
    }
    ++state_.generation;
    return problem;
}

void Scheduler::set_expiration(JobId id, double expiration) {
    if (!(expiration >= 0)) throw Error(EINVAL, fmt::format("invalid expiration {}", expiration));
    auto found = state_.running.find(id);
    if (found == state_.running.end()) return;
    found->second.end = expiration;
    ++state_.generation;
}

void Scheduler::check_feasible(JsonView jobspec) {
    auto request = Request::from_jobspec(jobspec);
    auto nodes = admitted(request.constraint);
    auto why = state_.pool.unsatisfiable(request, nodes.get());
    if (!why.empty()) throw Error(EOVERFLOW, why);
}

Actions Scheduler::run(double now, std::size_t limit) {
    Actions out;
    while (!state_.queue.empty() && limit > 0) {
        auto& head = state_.queue.head();
        if (start(state_, head, now, Json::object(), out)) {
            ++state_.generation;
            --limit;
            continue;
        }
        auto why = state_.pool.unsatisfiable(head.shape->request, head.shape->mask());
        if (why.empty()) {
            policy_->behind_head(state_, now, limit, out);
            break;
        }
        auto id = head.place.id;
        state_.queue.erase(id);
        out.push_back(Action::deny(id, std::move(why)));
    }
    if (annotate_pending_) annotate_waiting(out);
    return out;
}

void Scheduler::annotate_waiting(Actions& out) {
    std::size_t ahead = 0;
    for (const auto& place : state_.queue.order()) {
        auto& job = state_.queue.job(place.id);
        if (job.jobs_ahead != ahead) {
            auto sched = Json::object("reason_pending", "insufficient resources", "jobs_ahead", ahead);
            out.push_back(Action::annotate(place.id, Json::object("sched", std::move(sched))));
        }
        job.jobs_ahead = ahead++;
    }
}

Actions Scheduler::forecast(double now) {
    Actions out;
    if (!policy_->keeps_order() || state_.queue.empty()) return out;
    Timeline timeline(state_, now);
    std::size_t simulated = 0;
    bool known = true;
    for (const auto& place : state_.queue.order()) {
        auto& job = state_.queue.job(place.id);
        const auto& request = job.shape->request;
        std::optional<double> time;
        if (known && !state_.pool.unsatisfiable(request, job.shape->mask()).empty()) continue;
        if (known) time = timeline.next_start(request, job.shape->mask());
        // Nothing is known behind a job that may run for ever.
        known = known && time && request.duration > 0 && ++simulated < max_forecast;
        estimate(job, time, out);
    }
    return out;
}

} // namespace flux::sched
