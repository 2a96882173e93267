#include "core/state.hpp"

namespace flux::sched {

bool start(State& state, PendingJob& job, double now, Json extra, Actions& out) {
    const auto& request = job.shape->request;
    auto allocation = state.pool.allocate(request, job.shape->mask());
    if (!allocation) return false;

    auto R = state.pool.describe(*allocation);
    R.drop_local_properties();
    R.starttime = now;
    R.expiration = request.duration > 0 ? now + request.duration : state.expiration;

    auto sched = Json::object("resource_summary", R.summary());
    // What was said while it waited is void now.
    if (job.t_estimate) sched.set("t_estimate", nullptr);
    if (job.jobs_ahead) {
        sched.set("reason_pending", nullptr);
        sched.set("jobs_ahead", nullptr);
    }
    sched.update(extra);

    auto id = job.place.id;
    state.running[id] = {std::move(*allocation), R.expiration};
    out.push_back(Action::success(id, std::move(R), Json::object("sched", std::move(sched))));
    state.queue.erase(id);
    return true;
}

void estimate(PendingJob& job, std::optional<double> time, Actions& out) {
    if (job.t_estimate == time) return;
    job.t_estimate = time;
    auto value = time ? Json(*time) : Json();
    out.push_back(Action::annotate(job.place.id, Json::object("sched", Json::object("t_estimate", std::move(value)))));
}

} // namespace flux::sched
