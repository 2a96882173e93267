#include "kill_plan.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace flux::job_exec;
using namespace std::chrono_literals;

namespace {

using Step = KillPlan::Step;

// The seconds at which a step is taken until the job is given up.
std::vector<int> seconds_of(Step wanted, const KillTiming& timing) {
    KillPlan plan(timing, Time());
    std::vector<int> seconds;
    for (;;) {
        auto at =
            static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(plan.next().time_since_epoch()).count());
        auto step = plan.take();
        if (step == wanted) seconds.push_back(at);
        if (step == Step::give_up) return seconds;
    }
}

} // namespace

TEST_CASE("kill plan by default") {
    KillTiming timing;
    CHECK(seconds_of(Step::kill_shells, timing) == std::vector<int>{25, 30, 40, 60, 100, 180, 340, 640});
    CHECK(seconds_of(Step::give_up, timing) == std::vector<int>{640});
    CHECK(timing.total() == 640s);
    auto tasks = seconds_of(Step::kill_tasks, timing);
    CHECK(tasks.size() == 128);
    CHECK(tasks[0] == 5);
    CHECK(tasks[1] == 10);
}

TEST_CASE("kill plan with an end") {
    KillTiming timing;
    timing.max_kill_timeout = 45s;
    timing.max_kill_count = 1;
    CHECK(seconds_of(Step::kill_shells, timing) == std::vector<int>{25, 30, 40});
    CHECK(seconds_of(Step::give_up, timing) == std::vector<int>{45});
    CHECK(timing.total() == 45s);
}

TEST_CASE("the interval has a limit") {
    KillTiming timing;
    timing.kill_timeout = 100s;
    timing.max_kill_count = 5;
    CHECK(seconds_of(Step::kill_shells, timing) == std::vector<int>{500, 600, 800, 1100, 1400});
    CHECK(timing.total() == 1400s);
}

TEST_CASE("giving up is tried again") {
    KillTiming timing;
    timing.max_kill_timeout = 1s;
    KillPlan plan(timing, Time());
    CHECK(plan.take() == Step::give_up);
    CHECK(plan.take() == Step::kill_tasks);
    CHECK(plan.next() == Time(6s));
    CHECK(plan.take() == Step::give_up);
}
