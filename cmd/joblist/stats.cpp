#include "cmd/joblist/stats.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::joblist {

Stats::Stats(JsonView answer, const std::vector<std::string>& queues) {
    auto add = [this](JsonView part) {
        auto number = [&](const char* key) { return part.find(key).try_as<std::int64_t>().value_or(0); };
        pending += number("job_states.depend") + number("job_states.priority") + number("job_states.sched");
        running += number("job_states.run") + number("job_states.cleanup");
        completed += number("successful");
        failed += number("failed") + number("canceled") + number("timeout");
        inactive += number("job_states.inactive");
        total += number("job_states.total");
        purged += number("inactive_purged");
    };
    if (queues.empty()) add(answer);
    for (const auto& name : queues) {
        bool found = false;
        for (auto queue : answer["queues"].elements()) {
            if (queue["name"].try_as<std::string_view>() != name) continue;
            add(queue);
            found = true;
        }
        if (!found) throw Error(ENOENT, "no stats available for queue " + name);
    }
}

std::string Stats::line() const {
    return fmt::format("{} running, {} completed, {} failed, {} pending", running, completed, failed, pending);
}

std::string Stats::brief() const { return fmt::format("PD:{} R:{} CD:{} F:{}", pending, running, completed, failed); }

} // namespace flux::joblist
