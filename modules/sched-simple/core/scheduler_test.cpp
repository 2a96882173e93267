#include "core/scheduler.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cerrno>

using flux::Error;
using flux::Idset;
using flux::JobId;
using flux::Json;
using flux::ResourceSet;
using flux::sched::Action;
using flux::sched::Actions;
using flux::sched::EasyBackfill;
using flux::sched::Policy;
using flux::sched::Scheduler;
using flux::sched::StrictFifo;

namespace {

ResourceSet cluster(std::string_view ranks, std::string_view cores = "0-3") {
    auto entry = Json::object("rank", ranks, "children", Json::object("core", cores));
    auto hosts = fmt::format("n[{}]", ranks);
    auto execution = Json::object("R_lite", Json::array_of(std::move(entry)), "nodelist", Json::array_of(hosts));
    return ResourceSet::decode(Json::object("version", 1, "execution", std::move(execution)));
}

template <class P = StrictFifo> Scheduler scheduler(std::string_view ranks = "0-3") {
    auto set = cluster(ranks);
    auto up = set.ranks();
    return Scheduler(std::make_unique<P>(), std::move(set), up);
}

Json slots(int count, int cores, double duration = 0) {
    auto slot = Json::object("type", "slot", "count", count, "label", "task", "with",
                             Json::array_of(Json::object("type", "core", "count", cores)));
    return Json::object("version", 1, "resources", Json::array_of(std::move(slot)), "attributes",
                        Json::object("system", Json::object("duration", duration)));
}

std::string text(const Actions& actions) {
    std::string result;
    for (const auto& action : actions) {
        if (!result.empty()) result += "; ";
        result += std::to_string(action.id.value());
        switch (action.type) {
        case Action::Type::success: result += " gets " + action.R.summary(); break;
        case Action::Type::annotate: result += " is " + action.annotations["sched"].dump(); break;
        case Action::Type::deny: result += " denied: " + action.note; break;
        case Action::Type::cancel: result += " cancelled"; break;
        }
    }
    return result;
}

JobId id(std::uint64_t value) { return JobId(value); }

} // namespace

TEST_CASE("scheduler: an allocation carries what a job needs to know", "[sched]") {
    auto set = cluster("0-1");
    set.set_property("fast", {0});
    set.set_property("+secret", {0});
    set.set_scheduling(Json::object("writer", "x"));
    set.expiration = 5000;
    Scheduler scheduler(std::make_unique<StrictFifo>(), std::move(set), {0, 1});
    CHECK(scheduler.alloc(id(1), 16, slots(1, 2, 60)).empty());
    auto actions = scheduler.run(1000.5);
    REQUIRE(actions.size() == 1);
    CHECK(
        actions[0].R.encode().dump() ==
        R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"0-1"}}],"starttime":1000.5,)"
        R"("expiration":1060.5,"nslots":1,"nodelist":["n0"],"properties":{"fast":"0"}},"scheduling":{"writer":"x"}})");
    CHECK(actions[0].annotations.dump() == R"({"sched":{"resource_summary":"rank0/core[0-1]"}})");
    scheduler.alloc(id(2), 16, slots(1, 1));
    CHECK(scheduler.run(1001)[0].R.expiration == 5000);
    CHECK(scheduler.allocated().summary() == "rank0/core[0-1] rank1/core0");
}

TEST_CASE("scheduler: strict priority order", "[sched]") {
    auto scheduler = ::scheduler("0");
    scheduler.alloc(id(1), 16, slots(1, 4));
    scheduler.alloc(id(2), 16, slots(1, 1));
    scheduler.alloc(id(3), 20, slots(1, 2));
    scheduler.alloc(id(4), 16, slots(1, 1));
    CHECK(text(scheduler.run(1)) == "3 gets rank0/core[0-1]");
    CHECK(scheduler.pending() == 3);
    scheduler.prioritize({{id(4), 17}, {id(99), 1}});
    CHECK(text(scheduler.run(2)) == "4 gets rank0/core2");
    CHECK(text(scheduler.cancel(id(1))) == "1 cancelled");
    CHECK(scheduler.cancel(id(3)).empty());
    CHECK(text(scheduler.run(3)) == "2 gets rank0/core3");
    CHECK_THROWS_AS(scheduler.alloc(id(3), 1, slots(1, 1)), Error);
}

TEST_CASE("scheduler: a pass may be cut", "[sched]") {
    auto scheduler = ::scheduler("0-3");
    for (int job = 1; job <= 5; ++job) scheduler.alloc(id(job), 16, slots(1, 1));
    CHECK(scheduler.run(1, 2).size() == 2);
    CHECK(scheduler.run(1, 2).size() == 2);
    CHECK(scheduler.run(1, 2).size() == 1);
}

TEST_CASE("scheduler: what can never run is denied and does not block", "[sched]") {
    auto scheduler = ::scheduler("0-1");
    scheduler.alloc(id(1), 16, slots(1, 5));
    scheduler.alloc(id(2), 16, slots(1, 1));
    CHECK(text(scheduler.run(1)) == "1 denied: unsatisfiable request: need 1 slot(s) of 5 core(s), only 0 such slot(s) "
                                    "available (total cores: 8); 2 gets rank0/core0");
    auto broken = slots(1, 1);
    broken.set("resources", Json::array());
    CHECK(text(scheduler.alloc(id(3), 16, broken)) == "3 denied: cannot parse jobspec: jobspec has no resources");
    auto constrained = slots(1, 1);
    constrained["attributes"]["system"].set("constraints", Json::parse(R"({"foo":[]})"));
    CHECK(text(scheduler.alloc(id(3), 16, constrained)) ==
          "3 denied: cannot parse jobspec: unknown constraint operator: foo");
    // Nodes that are down count, nodes that are lost do not.
    scheduler.mark_down({1});
    scheduler.alloc(id(4), 16, slots(2, 4));
    CHECK(scheduler.run(2).empty());
    scheduler.shrink({1});
    CHECK(text(scheduler.run(3)).starts_with("4 denied: unsatisfiable"));
    scheduler.deny_all(true);
    CHECK(text(scheduler.alloc(id(5), 16, slots(1, 1))) == "5 denied: DEBUG_FAIL_ALLOC");
}

TEST_CASE("scheduler: feasibility", "[sched]") {
    auto scheduler = ::scheduler("0-1");
    auto errnum = [&](const Json& jobspec) {
        try {
            scheduler.check_feasible(jobspec);
        } catch (const Error& error) {
            return error.errnum();
        }
        return 0;
    };
    CHECK(errnum(slots(2, 4)) == 0);
    CHECK(errnum(slots(3, 4)) == EOVERFLOW);
    CHECK(errnum(Json::object()) == EINVAL);
    auto constrained = slots(2, 4);
    constrained["attributes"]["system"].set("constraints", Json::parse(R"({"hostlist":["n1"]})"));
    CHECK(errnum(constrained) == EOVERFLOW);
    scheduler.alloc(id(1), 16, slots(2, 4));
    scheduler.run(1);
    CHECK(errnum(slots(2, 4)) == 0);
}

TEST_CASE("scheduler: constraints choose nodes", "[sched]") {
    auto scheduler = ::scheduler("0-3");
    auto constrained = slots(2, 4);
    constrained["attributes"]["system"].set("constraints", Json::parse(R"({"hostlist":["n[1,3]"]})"));
    scheduler.alloc(id(1), 16, constrained);
    scheduler.alloc(id(2), 15, constrained);
    CHECK(text(scheduler.run(1)) == "1 gets rank[1,3]/core[0-3]");
    scheduler.free(id(1), Idset::parse("1,3"), true);
    CHECK(text(scheduler.run(2)) == "2 gets rank[1,3]/core[0-3]");
}

TEST_CASE("scheduler: partial and strange frees", "[sched]") {
    auto scheduler = ::scheduler("0-3");
    scheduler.alloc(id(1), 16, slots(4, 4));
    scheduler.run(1);
    scheduler.alloc(id(2), 16, slots(1, 4));
    CHECK(scheduler.run(2).empty());
    CHECK(scheduler.free(id(1), {2}, false).empty());
    CHECK(text(scheduler.run(3)) == "2 gets rank2/core[0-3]");
    CHECK(scheduler.free(id(1), {2}, false) == "free: job " + id(1).f58() + " does not hold rank 2");
    CHECK(scheduler.free(id(1), {0, 1}, true) == "free: job " + id(1).f58() + " still held rank3/core[0-3]");
    CHECK(scheduler.allocated().summary() == "rank2/core[0-3]");
    CHECK(scheduler.free(id(1), {0}, true) == "free: job " + id(1).f58() + " holds nothing here");
    CHECK(scheduler.free(id(2), {2}, true).empty());
    CHECK(scheduler.running() == 0);
}

TEST_CASE("scheduler: hello rebuilds the books", "[sched]") {
    auto scheduler = ::scheduler("0-1");
    scheduler.hello(id(1), cluster("0", "0-1"));
    // Held on a node that is no longer there: the job goes on.
    scheduler.hello(id(2), cluster("1,7", "3"));
    CHECK_THROWS_AS(scheduler.hello(id(3), cluster("0", "1-2")), Error);
    CHECK_THROWS_AS(scheduler.hello(id(1), cluster("0", "3")), Error);
    CHECK(scheduler.allocated().summary() == "rank0/core[0-1] rank1/core3");
    scheduler.alloc(id(4), 16, slots(1, 3));
    CHECK(text(scheduler.run(1)) == "4 gets rank1/core[0-2]");
    CHECK(scheduler.free(id(2), Idset::parse("1,7"), true).empty());
    CHECK(scheduler.free(id(1), {0}, true).empty());
    CHECK(scheduler.allocated().summary() == "rank1/core[0-2]");
}

TEST_CASE("scheduler: nodes that come and go", "[sched]") {
    auto scheduler = ::scheduler("0-1");
    scheduler.mark_down({0, 1});
    scheduler.alloc(id(1), 16, slots(1, 1));
    CHECK(scheduler.run(1).empty());
    scheduler.mark_up({1});
    CHECK(text(scheduler.run(2)) == "1 gets rank1/core0");
    scheduler.mark_down({1});
    CHECK(scheduler.free(id(1), {1}, true).empty());
    scheduler.alloc(id(2), 16, slots(1, 4));
    CHECK(scheduler.run(3).empty());
    CHECK(scheduler.down().ranks().encode() == "0-1");
    scheduler.mark_up({1});
    CHECK(text(scheduler.run(4)) == "2 gets rank1/core[0-3]");
}

TEST_CASE("scheduler: forecast of a strict queue", "[sched]") {
    auto scheduler = ::scheduler("0-1");
    scheduler.alloc(id(1), 16, slots(2, 4, 100));
    CHECK(text(scheduler.run(1000)) == "1 gets rank[0-1]/core[0-3]");
    CHECK(scheduler.forecast(1000).empty());
    scheduler.alloc(id(2), 16, slots(1, 4, 50));
    scheduler.alloc(id(3), 16, slots(2, 4, 10));
    scheduler.alloc(id(4), 16, slots(1, 1));
    scheduler.alloc(id(5), 16, slots(1, 1, 10));
    CHECK(scheduler.run(1001).empty());
    CHECK(text(scheduler.forecast(1001)) ==
          R"(2 is {"t_estimate":1100.0}; 3 is {"t_estimate":1150.0}; 4 is {"t_estimate":1160.0})");
    CHECK(scheduler.forecast(1002).empty());
    scheduler.set_expiration(id(1), 1200);
    CHECK(text(scheduler.forecast(1003)) ==
          R"(2 is {"t_estimate":1200.0}; 3 is {"t_estimate":1250.0}; 4 is {"t_estimate":1260.0})");
    // No end is known any more.
    scheduler.set_expiration(id(1), 0);
    CHECK(text(scheduler.forecast(1004)) ==
          R"(2 is {"t_estimate":null}; 3 is {"t_estimate":null}; 4 is {"t_estimate":null})");
    scheduler.set_expiration(id(1), 1300);
    scheduler.forecast(1005);
    scheduler.free(id(1), {0, 1}, true);
    auto actions = scheduler.run(1006);
    CHECK(actions[0].annotations.dump() == R"({"sched":{"resource_summary":"rank0/core[0-3]","t_estimate":null}})");
    CHECK_THROWS_WITH(scheduler.set_expiration(id(2), -1), "invalid expiration -1");
}

TEST_CASE("scheduler: pending annotations of the debug bit", "[sched]") {
    auto scheduler = ::scheduler("0");
    scheduler.annotate_pending(true);
    scheduler.alloc(id(1), 16, slots(1, 4));
    scheduler.alloc(id(2), 16, slots(1, 1));
    scheduler.alloc(id(3), 16, slots(1, 1));
    CHECK(text(scheduler.run(1)) ==
          R"(1 gets rank0/core[0-3]; 2 is {"reason_pending":"insufficient resources",)"
          R"("jobs_ahead":0}; 3 is {"reason_pending":"insufficient resources","jobs_ahead":1})");
    CHECK(scheduler.run(2).empty());
    scheduler.free(id(1), {0}, true);
    CHECK(scheduler.run(3)[0].annotations.dump() ==
          R"({"sched":{"resource_summary":"rank0/core0","reason_pending":null,"jobs_ahead":null}})");
}

TEST_CASE("scheduler: EASY backfill", "[sched]") {
    auto scheduler = ::scheduler<EasyBackfill>("0-1");
    scheduler.alloc(id(1), 16, slots(1, 4, 100));
    CHECK(text(scheduler.run(1000)) == "1 gets rank0/core[0-3]");
    scheduler.alloc(id(2), 16, slots(2, 4, 10));  // head: waits for 1
    scheduler.alloc(id(3), 15, slots(1, 1, 200)); // would delay it
    scheduler.alloc(id(4), 15, slots(1, 1));      // may never end
    scheduler.alloc(id(5), 14, slots(1, 2, 50));
    scheduler.alloc(id(6), 14, slots(1, 2, 50));
    scheduler.alloc(id(7), 14, slots(1, 2, 50)); // no room
    auto actions = scheduler.run(1001);
    CHECK(text(actions) == R"(2 is {"t_estimate":1100.0}; 5 gets rank1/core[0-1]; 6 gets rank1/core[2-3])");
    CHECK(actions[1].annotations["sched"]["backfill"].as<std::string>() == id(2).f58());
    CHECK(scheduler.forecast(1001).empty());
    scheduler.free(id(5), {1}, true);
    CHECK(text(scheduler.run(1040)) == "7 gets rank1/core[0-1]");
    scheduler.free(id(7), {1}, true);
    scheduler.free(id(6), {1}, true);
    scheduler.free(id(1), {0}, true);
    actions = scheduler.run(1090);
    CHECK(text(actions) == "2 gets rank[0-1]/core[0-3]; 3 is {\"t_estimate\":1100.0}");
    CHECK(actions[0].annotations["sched"].contains("t_estimate"));
}

TEST_CASE("scheduler: backfill without a known future does nothing", "[sched]") {
    auto scheduler = ::scheduler<EasyBackfill>("0-1");
    scheduler.alloc(id(1), 16, slots(1, 4));
    scheduler.run(1000);
    scheduler.alloc(id(2), 16, slots(2, 4, 10));
    scheduler.alloc(id(3), 16, slots(1, 1, 10));
    CHECK(scheduler.run(1001).empty());
    scheduler.set_expiration(id(1), 1050);
    CHECK(text(scheduler.run(1002)) == R"(2 is {"t_estimate":1050.0}; 3 gets rank1/core0)");
    // A better job becomes the head: the old one loses its estimate.
    scheduler.alloc(id(4), 20, slots(2, 4, 5));
    CHECK(text(scheduler.run(1003)) == R"(2 is {"t_estimate":null}; 4 is {"t_estimate":1050.0})");
}
