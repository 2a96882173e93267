// .begin-time: a job waits for a time of the wall clock (jobs.md 2.8).
#include "builtins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace flux::job_manager {

namespace {

// The timer is monotonic, begin times are not: the clock is looked at again this often while jobs wait.
constexpr double longest_sleep = 60;

double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class BeginTime final : public JobtapPlugin {
public:
    explicit BeginTime(JobtapHost& host) : JobtapPlugin(host), timer_(host.handle().loop(), [this] { on_time(); }) {}

    bool job_dependency(const JobtapJob& job, std::string_view scheme, JsonView dependency) override {
        if (scheme != "begin-time") return false;
        auto text = dependency.get<std::string_view>("value");
        double time = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(time))
            throw Error(EINVAL, fmt::format("begin-time: invalid time '{}'", text));
        auto description = fmt::format("begin-time={:.3f}", time);
        try {
            host().dependency_add(job.id, description);
        } catch (const Error& failure) {
            if (failure.errnum() != EEXIST) throw;
            return true;
        }
        order_.emplace(time, job.id);
        jobs_[job.id].emplace_back(time, std::move(description));
        arm();
        return true;
    }

    void job_inactive(const JobtapJob& job) override { forget(job.id); }
    void job_destroy(const JobtapJob& job) override { forget(job.id); }

private:
    void forget(JobId id) {
        auto found = jobs_.find(id);
        if (found == jobs_.end()) return;
        for (auto& [time, description] : found->second) order_.erase({time, id});
        jobs_.erase(found);
    }

    void arm() {
        if (order_.empty()) return timer_.stop();
        auto wait = std::clamp(order_.begin()->first - wall_clock(), 0.0, longest_sleep);
        timer_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(wait)));
    }

    void on_time() {
        auto now = wall_clock();
        while (!order_.empty() && order_.begin()->first <= now) {
            auto [time, id] = *order_.begin();
            order_.erase(order_.begin());
            for (auto& [due, description] : jobs_[id]) {
                if (due == time) host().dependency_remove(id, description);
            }
        }
        arm();
    }

    Timer timer_;
    std::set<std::pair<double, JobId>> order_;
    std::unordered_map<JobId, std::vector<std::pair<double, std::string>>> jobs_;
};

} // namespace

std::unique_ptr<JobtapPlugin> make_begin_time(JobtapHost& host) { return std::make_unique<BeginTime>(host); }

} // namespace flux::job_manager
