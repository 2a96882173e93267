#include "core/policy.hpp"
#include "core/timeline.hpp"

#include <queue>

namespace flux::sched {

std::optional<double> EasyBackfill::shadow(State& state, double now) {
    auto& head = state.queue.head();
    bool known = head_ == head.place.id && generation_ == state.generation;
    // A job that is still there after its end moves the shadow on.
    if (known && (!shadow_ || *shadow_ > now)) return shadow_;
    head_ = head.place.id;
    generation_ = state.generation;
    shadow_ = Timeline(state, now).next_start(head.shape->request, head.shape->mask());
    return shadow_;
}

void EasyBackfill::behind_head(State& state, double now, std::size_t limit, Actions& out) {
    auto head = state.queue.head().place;
    auto start_of_head = shadow(state, now);
    // The annotation belongs to the head alone: a job that was pushed back loses it.
    if (annotated_ != head.id && state.queue.contains(annotated_))
        estimate(state.queue.job(annotated_), std::nullopt, out);
    annotated_ = head.id;
    estimate(state.queue.head(), start_of_head, out);
    if (!start_of_head) return;

    // The best job of each shape that may run; a shape whose job does not fit is done for this pass.
    struct Candidate {
        Place place;
        Shape* shape;
        bool operator>(const Candidate& other) const noexcept { return other.place < place; }
    };
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    auto add = [&](Shape& shape, std::set<Place>::iterator first) {
        if (first != shape.jobs.end() && first->id == head.id) ++first;
        if (first != shape.jobs.end()) candidates.push({*first, &shape});
    };
    for (auto& [request, shape] : state.queue.shapes())
        if (request.duration > 0 && now + request.duration <= *start_of_head) add(shape, shape.jobs.begin());

    while (limit > 0 && !candidates.empty()) {
        auto [place, shape] = candidates.top();
        candidates.pop();
        bool last_of_shape = shape->jobs.size() == 1;
        if (!start(state, state.queue.job(place.id), now, Json::object("backfill", head.id.f58()), out)) continue;
        --limit;
        if (!last_of_shape) add(*shape, shape->jobs.begin());
    }
}

} // namespace flux::sched
