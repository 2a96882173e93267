#include "job.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace flux;
using namespace flux::job_manager;

namespace {

constexpr const char* jobspec = R"({"attributes":{"system":{"duration":0}}})";
constexpr const char* R_text = R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0"}}],)"
                               R"("starttime":10.0,"expiration":0.0},"scheduling":{"x":1}})";

// `name` or `name {context}`, one event a line.
std::string log_of(std::initializer_list<const char*> events) {
    std::string log;
    double time = 100;
    for (std::string_view event : events) {
        auto space = event.find(' ');
        auto name = event.substr(0, space);
        Json context;
        if (space != std::string_view::npos) context = Json::parse(event.substr(space + 1));
        log += EventlogEntry(time += 1, name, std::move(context)).encode();
    }
    return log;
}

Job job_of(std::initializer_list<const char*> events) { return replay(JobId(7), log_of(events), jobspec, R_text); }

constexpr const char* submit = R"(submit {"userid":5588,"urgency":16,"flags":4,"version":1})";
constexpr const char* priority = R"(priority {"priority":16})";
constexpr const char* alloc = R"(alloc {"annotations":{"sched":{"resource_summary":"rank0/core0"}}})";
constexpr const char* finish = R"(finish {"status":0})";
constexpr const char* cancel = R"(exception {"type":"cancel","severity":0,"note":"why","userid":5588})";
constexpr const char* release = R"(release {"ranks":"all","final":true})";

} // namespace

TEST_CASE("job: the state follows from the events", "[job-manager]") {
    struct Case {
        std::initializer_list<const char*> events;
        JobState state;
    };
    for (auto& [events, state] : {
             Case{{submit}, JobState::new_},
             Case{{submit, "validate"}, JobState::depend},
             Case{{submit, "validate", "depend"}, JobState::priority},
             Case{{submit, "validate", "depend", priority}, JobState::sched},
             Case{{submit, "validate", "depend", priority, R"(urgency {"userid":1,"urgency":0})"}, JobState::priority},
             Case{{submit, "validate", "depend", priority, "flux-restart"}, JobState::priority},
             Case{{submit, "validate", "depend", priority, R"(jobspec-update {"attributes.system.duration":1})"},
                  JobState::priority},
             Case{{submit, "validate", "depend", priority, priority}, JobState::sched},
             Case{{submit, "validate", "depend", priority, alloc}, JobState::run},
             Case{{submit, "validate", "depend", priority, alloc, "start"}, JobState::run},
             Case{{submit, "validate", "depend", priority, alloc, "start", finish}, JobState::cleanup},
             Case{{submit, "validate", cancel}, JobState::cleanup},
             Case{{submit, "validate", "depend", priority, alloc, cancel, finish}, JobState::cleanup},
             Case{{submit, "validate", R"(exception {"type":"x","severity":1})"}, JobState::depend},
             Case{{submit, "validate", cancel, "clean"}, JobState::inactive},
             Case{{submit, "validate", "depend", priority, alloc, "start", finish, release, "free", "clean"},
                  JobState::inactive},
         })
        CHECK(job_of(events).state == state);
}

TEST_CASE("job: what a finished job leaves", "[job-manager]") {
    auto job = job_of({submit, "validate", R"(memo {"a":1,"b":{"c":2}})", "depend", priority, alloc, "start",
                       R"(memo {"uri":"x"})", finish, release, "free", "clean"});
    CHECK(job.userid == 5588);
    CHECK(job.waitable());
    CHECK(job.t_submit == 101);
    CHECK(job.priority == 16);
    CHECK(job.annotations.dump() == R"({"sched":{"resource_summary":"rank0/core0"},"user":{"uri":"x"}})");
    CHECK(job.result() == JobResult::completed);
    CHECK(failure_text(job).empty());
    CHECK(job.end_event["name"].as<std::string>() == "finish");
    CHECK_FALSE(job.has_resources);
    CHECK_FALSE(job.R.contains("scheduling"));
    CHECK(job.shells == Shells::gone);

    auto canceled = job_of({submit, "validate", "depend", priority, alloc, "start", cancel, R"(finish {"status":15})"});
    CHECK(canceled.result() == JobResult::canceled);
    CHECK(failure_text(canceled) == "Fatal exception type=cancel why");
    CHECK(canceled.finish_status == 15);
    CHECK(canceled.has_resources);
    CHECK(canceled.shells == Shells::maybe);

    auto failed = job_of({submit, "validate", "depend", priority, alloc, "start", R"(finish {"status":256})"});
    CHECK(failed.result() == JobResult::failed);
    CHECK(failure_text(failed) == "task(s) exited with exit code 1");
}

TEST_CASE("job: dependencies, flags and updates", "[job-manager]") {
    auto job =
        job_of({submit, R"(set-flags {"flags":["debug","alloc-bypass"]})", R"(dependency-add {"description":"a"})",
                R"(dependency-add {"description":"b"})", R"(dependency-add {"description":"a"})", "validate",
                R"(dependency-remove {"description":"a"})", R"(dependency-remove {"description":"z"})"});
    CHECK(job.dependencies == std::vector<std::string>{"b"});
    CHECK(job.satisfied == std::vector<std::string>{"a"});
    CHECK(job.debug);
    CHECK(job.alloc_bypass);
    CHECK_FALSE(job.immutable);

    auto updated = job_of({submit, "validate", "depend", priority,
                           R"(jobspec-update {"attributes.system.duration":60,"attributes.system.x.y":true})", priority,
                           alloc, R"(resource-update {"expiration":99.5})"});
    CHECK(updated.jobspec.find("attributes.system.duration").as<double>() == 60);
    CHECK(updated.jobspec.find("attributes.system.x.y").as<bool>());
    CHECK(updated.R.find("execution.expiration").as<double>() == 99.5);
}

TEST_CASE("job: R that was never announced does not count", "[job-manager]") {
    CHECK(job_of({submit, "validate", "depend", priority}).R.is_null());
    CHECK_THROWS_WITH(replay(JobId(7), log_of({submit, "validate", "depend", priority, alloc}), jobspec, ""),
                      "job has resources but no R");
}

TEST_CASE("job: bad logs are refused and change nothing", "[job-manager]") {
    for (auto& events : {
             std::initializer_list<const char*>{"validate"},
             {submit, submit},
             {R"(submit {"userid":1,"urgency":16,"flags":0,"version":2})"},
             {R"(submit {"userid":1,"urgency":32,"flags":0,"version":1})"},
             {R"(submit {"userid":1,"urgency":16,"version":1})"},
             {submit, "depend"},
             {submit, "validate", "validate"},
             {submit, "validate", priority},
             {submit, "validate", "depend", R"(priority {"priority":-1})"},
             {submit, "validate", "depend", R"(priority {"priority":4294967296})"},
             {submit, "validate", "depend", alloc},
             {submit, "validate", "clean"},
             {submit, "validate", finish},
             {submit, cancel},
             {submit, "validate", cancel, "clean", "x"},
             {submit, R"(set-flags {"flags":["fast"]})"},
             {submit, "validate", "memo"},
         })
        CHECK_THROWS_AS(job_of(events), Error);
    Job job(JobId(1));
    fold(job, EventlogEntry("submit", Json::parse(R"({"userid":1,"urgency":16,"flags":0,"version":1})")));
    CHECK_THROWS_AS(fold(job, EventlogEntry("set-flags", Json::parse(R"({"flags":["debug","fast"]})"))), Error);
    CHECK_FALSE(job.debug);
}

TEST_CASE("annotations are merged, nulls remove", "[job-manager]") {
    Json target;
    auto merge = [&](const char* update) { return merge_annotations(target, Json::parse(update)), target.dump(); };
    CHECK(merge(R"({"sched":{"t_estimate":1.5,"x":{"y":1}}})") == R"({"sched":{"t_estimate":1.5,"x":{"y":1}}})");
    CHECK(merge(R"({"sched":{"x":{"y":null}},"user":{"a":null}})") == R"({"sched":{"t_estimate":1.5}})");
    CHECK(merge(R"({"sched":7})") == R"({"sched":7})");
    CHECK(merge(R"({"sched":{"a":[1]}})") == R"({"sched":{"a":[1]}})");
    CHECK(merge(R"({"sched":null})") == "null");
}
