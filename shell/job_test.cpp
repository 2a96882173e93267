#include "job.hpp"

#include <flux/jobspec_builder.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::shell;

namespace {

Json make_R(const char* r_lite, const char* hosts, int nslots = 0) {
    auto R = Json::parse(R"({"version":1,"execution":{"starttime":1,"expiration":0}})");
    R["execution"].set("R_lite", Json::parse(r_lite));
    R["execution"].set("nodelist", Json::array_of(hosts));
    if (nslots) R["execution"].set("nslots", nslots);
    return R;
}

Json make_jobspec(const TaskResources& resources) {
    auto builder = JobspecBuilder::for_tasks({"app"}, resources);
    builder.set_duration(0);
    return builder.take();
}

TaskResources tasks(int ntasks, int nodes = 0, int cores_per_task = 0) {
    TaskResources resources;
    resources.tasks = ntasks;
    resources.nodes = nodes;
    resources.cores_per_task = cores_per_task;
    return resources;
}

} // namespace

TEST_CASE("job: tasks are dealt to nodes by cores", "[shell]") {
    struct Case {
        std::vector<std::size_t> cores;
        std::size_t ntasks;
        std::size_t need;
        std::vector<unsigned> counts;
    };
    const Case cases[] = {
        {{4}, 4, 1, {4}},
        {{2, 2}, 4, 1, {2, 2}},
        {{2, 2}, 3, 1, {2, 1}},
        {{1, 4}, 3, 1, {1, 2}},
        {{4, 1}, 5, 1, {4, 1}},
        {{4, 4}, 4, 2, {2, 2}},
        {{1, 4}, 4, 4, {1, 3}}, // cores per task are lowered to the
                                // smallest node
        {{2, 2}, 8, 1, {4, 4}}, // oversubscribed
        {{0, 0}, 3, 0, {2, 1}},
        {{}, 3, 1, {}},
    };
    for (const auto& c : cases) CHECK(distribute_tasks(c.cores, c.ntasks, c.need) == c.counts);
}

TEST_CASE("job: what a shell derives from jobspec and R", "[shell]") {
    auto jobspec = make_jobspec(tasks(4, 2, 2));
    auto R = make_R(R"([{"rank":"3,7","children":{"core":"0-3"}}])", "n[3,7]");
    auto job = make_job(JobId(5), 1000, 0, 7, jobspec, R);
    CHECK(job.service == "1000-shell-f6");
    CHECK(job.guest_namespace == "job-5");
    CHECK(job.size == 2);
    CHECK(job.rank == 1);
    CHECK(job.ntasks == 4);
    CHECK(job.nslots == 4);
    CHECK(job.cores_per_slot == 2);
    CHECK(job.nnodes == 2);
    CHECK(job.self().host == "n7");
    CHECK(job.self().broker_rank == 7);
    CHECK(job.self().taskids.encode() == "2-3");
    CHECK(job.taskmap.encode() == "[[0,2,2,1]]");
    set_taskmap(job, Taskmap::parse("0,2;1,3"));
    CHECK(job.self().taskids.encode() == "1,3");
    CHECK_THROWS_WITH(set_taskmap(job, Taskmap::parse("0;1")), "taskmap: got 2 total tasks, expected 4");
    CHECK_THROWS_AS(set_taskmap(job, Taskmap::parse("[[1,2,2,1]]")), Error);
    CHECK_THROWS_WITH(make_job(JobId(5), 0, 0, 4, jobspec, R), "broker rank 4 is not in R");
}

TEST_CASE("job: tasks per resource", "[shell]") {
    auto jobspec = make_jobspec(tasks(1));
    auto R = make_R(R"([{"rank":"0","children":{"core":"0-1"}},{"rank":"1","children":{"core":"0-3"}}])", "a,b", 1);
    jobspec["attributes"]["system"].set_path("shell.options.per-resource", Json::object("type", "core", "count", 2));
    auto job = make_job(JobId(5), 0, 0, 0, jobspec, R);
    CHECK(job.ntasks == 12);
    CHECK(job.taskmap.encode() == "[[0,1,4,1],[1,1,8,1]]");
    jobspec["attributes"]["system"].set_path("shell.options.per-resource", Json::object("type", "node"));
    CHECK(make_job(JobId(5), 0, 0, 0, jobspec, R).ntasks == 2);
}

TEST_CASE("job: fewer tasks than slots keep fewer resources", "[shell]") {
    auto jobspec = make_jobspec(tasks(3, 2));
    auto R = make_R(R"([{"rank":"0-1","children":{"core":"0-1"}}])", "vm,vn", 4);
    auto job = make_job(JobId(5), 0, 0, 1, jobspec, R);
    CHECK(trim_unused_slots(job) == std::vector<std::string>{"vn: adjusted cores from 0-1 to 0"});
    CHECK(job.ranks[0].cores.encode() == "0-1");
    CHECK(job.self().cores.encode() == "0");
    CHECK(trim_unused_slots(job).empty());
}
