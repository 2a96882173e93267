// Allocations per second of the scheduler core, on few and on many nodes: the rate must not depend on the number of
// nodes.
#include "core/scheduler.hpp"

#include <fmt/format.h>

#include <ctime>
#include <deque>
#include <functional>

using flux::Idset;
using flux::JobId;
using flux::Json;
using flux::ResourceSet;
using flux::sched::Action;
using flux::sched::EasyBackfill;
using flux::sched::Policy;
using flux::sched::Scheduler;
using flux::sched::StrictFifo;

namespace {

// Processor time, so that a busy machine does not spoil the ratio.
double seconds(const std::function<void()>& work) {
    auto start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Json R_of(int nodes) {
    auto entry =
        Json::object("rank", fmt::format("0-{}", nodes - 1), "children", Json::object("core", "0-63", "gpu", "0-3"));
    auto execution = Json::object("R_lite", Json::array_of(std::move(entry)), "nodelist",
                                  Json::array_of(fmt::format("node[0-{}]", nodes - 1)), "properties",
                                  Json::object("batch", fmt::format("0-{}", nodes / 2 - 1)));
    return Json::object("version", 1, "execution", std::move(execution));
}

Scheduler scheduler_of(int nodes, std::unique_ptr<Policy> policy) {
    auto set = ResourceSet::decode(R_of(nodes));
    auto up = set.ranks();
    return Scheduler(std::move(policy), std::move(set), up);
}

Json jobspec(int nodes, int slots, int cores, double duration, const char* constraint) {
    auto resource = Json::object("type", "slot", "count", slots, "label", "task", "with",
                                 Json::array_of(Json::object("type", "core", "count", cores)));
    if (nodes > 0) {
        auto slot = std::move(resource);
        resource =
            Json::object("type", "node", "count", nodes, "exclusive", true, "with", Json::array_of(std::move(slot)));
    }
    auto system = Json::object("duration", duration);
    if (constraint) system.set("constraints", Json::parse(constraint));
    return Json::object("version", 1, "resources", Json::array_of(std::move(resource)), "attributes",
                        Json::object("system", std::move(system)));
}

/// A full life of many jobs, `held` of them running at a time: request, pass, R as JSON, free.
double life(int nodes, const Json& spec, std::size_t held, std::size_t jobs) {
    auto scheduler = scheduler_of(nodes, std::make_unique<StrictFifo>());
    std::deque<std::pair<JobId, Idset>> running;
    auto elapsed = seconds([&] {
        for (std::size_t job = 1; job <= jobs; ++job) {
            scheduler.alloc(JobId(job), 16, spec);
            for (auto& action : scheduler.run(static_cast<double>(job))) {
                action.R.encode();
                running.emplace_back(action.id, action.R.ranks());
            }
            if (running.size() <= held) continue;
            scheduler.free(running.front().first, running.front().second, true);
            running.pop_front();
        }
    });
    return static_cast<double>(jobs) / elapsed;
}

void print_lives() {
    constexpr std::size_t jobs = 20000;
    struct Case {
        const char* name;
        Json spec;
        std::size_t held;
    };
    Case cases[] = {
        {"1 core", jobspec(0, 1, 1, 60, nullptr), 5000},
        {"4 slots of 2 cores", jobspec(0, 4, 2, 60, nullptr), 500},
        {"1 node, exclusive", jobspec(1, 1, 1, 60, nullptr), 90},
        {"32 nodes, exclusive", jobspec(32, 1, 1, 60, nullptr), 2},
        {"1 core, constrained", jobspec(0, 1, 1, 60, R"({"properties":["batch"]})"), 2000},
    };
    fmt::print("{:<24}{:>14}{:>14}\n", "jobs/s", "100 nodes", "10000 nodes");
    for (const auto& [name, spec, held] : cases)
        fmt::print("{:<24}{:>14.0f}{:>14.0f}\n", name, life(100, spec, held, jobs), life(10000, spec, held, jobs));
}

void print_backfill() {
    constexpr std::size_t pending = 10000;
    auto scheduler = scheduler_of(10000, std::make_unique<EasyBackfill>());
    scheduler.alloc(JobId(1), 16, jobspec(5000, 1, 1, 3600, nullptr));
    scheduler.run(1);
    scheduler.alloc(JobId(2), 16, jobspec(10000, 1, 1, 60, nullptr));
    for (std::size_t job = 3; job < pending + 3; ++job)
        scheduler.alloc(JobId(job), 16, jobspec(0, 1, 1 + static_cast<int>(job % 8), 600, nullptr));
    std::size_t started = 0;
    auto elapsed = seconds([&] {
        for (const auto& action : scheduler.run(2)) started += action.type == Action::Type::success;
    });
    fmt::print("\nbackfill of {} jobs behind a blocked head: {:.1f} ms\n", started, elapsed * 1e3);
    auto idle = seconds([&] { scheduler.run(3); });
    fmt::print("a pass in which nothing changed: {:.3f} ms\n", idle * 1e3);
}

void print_forecast() {
    auto scheduler = scheduler_of(10000, std::make_unique<StrictFifo>());
    for (std::size_t job = 1; job <= 10000; ++job)
        scheduler.alloc(JobId(job), 16, jobspec(1, 1, 1, 60 + static_cast<double>(job), nullptr));
    scheduler.run(1);
    for (std::size_t job = 10001; job <= 10008; ++job) scheduler.alloc(JobId(job), 16, jobspec(100, 1, 1, 60, nullptr));
    scheduler.run(2);
    auto elapsed = seconds([&] { scheduler.forecast(2); });
    fmt::print("forecast of 8 jobs with 10000 running: {:.1f} ms\n", elapsed * 1e3);
}

void print_sets() {
    auto R = R_of(10000);
    ResourceSet set;
    auto decode = seconds([&] { set = ResourceSet::decode(R); });
    auto encode = seconds([&] { set.encode(); });
    auto half = set.copy_ranks(Idset::of_range(0, 4999));
    auto without = seconds([&] { set.without(half); });
    fmt::print("R of 10000 nodes: decode {:.2f} ms, encode {:.2f} ms, difference {:.2f} ms\n", decode * 1e3,
               encode * 1e3, without * 1e3);
}

} // namespace

int main() {
    print_lives();
    print_backfill();
    print_forecast();
    print_sets();
}
