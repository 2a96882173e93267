#include "counts.hpp"

namespace flux::job_list {

void Counts::Numbers::add_ended(const Job& job, int by) noexcept {
    switch (job.result) {
    case JobResult::completed: successful += by; break;
    case JobResult::failed: failed += by; break;
    case JobResult::canceled: canceled += by; break;
    case JobResult::timeout: timeout += by; break;
    }
}

void Counts::Numbers::add(const Job& job, int by) noexcept {
    for (int i = 0; i < state_count; ++i)
        if (job.in(1 << i)) states[i] += by;
    if (job.state == JobState::inactive) add_ended(job, by);
}

void Counts::Numbers::write(const JsonRef& out) const {
    static constexpr const char* names[] = {"depend", "priority", "sched", "run", "cleanup", "inactive"};
    auto counts = Json::object();
    std::int64_t total = 0;
    for (int i = 0; i < 6; ++i) {
        counts.set(names[i], states[i + 1]); // new jobs are not counted
        total += states[i + 1];
    }
    counts.set("total", total);
    out.set("job_states", std::move(counts));
    out.set("successful", successful);
    out.set("failed", failed);
    out.set("canceled", canceled);
    out.set("timeout", timeout);
    out.set("inactive_purged", purged);
}

void Counts::add(const Job& job, int by) {
    if (job.state == JobState::none) return;
    all_.add(job, by);
    if (job.queue) queues_[std::string(job.queue.view())].add(job, by);
}

// How it has ended still counts.
void Counts::purged(const Job& job) {
    auto count = [&](Numbers& numbers) {
        numbers.add_ended(job, 1);
        ++numbers.purged;
    };
    count(all_);
    if (job.queue) count(queues_[std::string(job.queue.view())]);
}

Json Counts::to_json() const {
    auto result = Json::object();
    all_.write(result);
    auto queues = Json::array();
    for (const auto& [name, numbers] : queues_) {
        auto queue = Json::object("name", name);
        numbers.write(queue);
        queues.append(std::move(queue));
    }
    result.set("queues", std::move(queues));
    return result;
}

std::int64_t Counts::in(int states) const noexcept {
    std::int64_t sum = 0;
    for (int i = 0; i < state_count; ++i)
        if (states >> i & 1) sum += all_.states[i];
    return sum;
}

} // namespace flux::job_list
