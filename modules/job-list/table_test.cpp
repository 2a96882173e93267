#include "attributes.hpp"
#include "table.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_list;

namespace {

Json event(double time, const char* name, Json context = {}) {
    return EventlogEntry(time, name, std::move(context)).to_json();
}

void tell(Table& table, std::uint64_t id, Json event) {
    table.apply(Json::object("id", JobId(id), "events", Json::array_of(std::move(event))));
}

Json jobspec(const char* queue = nullptr) {
    auto json = Json::parse(R"({"version":1,"resources":[{"type":"slot","count":2,"label":"task","with":
        [{"type":"core","count":1}]}],"tasks":[{"command":["/bin/sleep","1"],"slot":"task","count":{"per_slot":1}}],
        "attributes":{"system":{"duration":60,"cwd":"/tmp"}}})");
    if (queue) json.set_path("attributes.system.queue", queue);
    return json;
}

Json R() {
    return Json::parse(R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0"}}],
        "nodelist":["n[0-1]"],"starttime":1.0,"expiration":61.0}})");
}

// A job that waits for resources.
void pend(Table& table, std::uint64_t id, double time, std::int64_t priority, const char* queue = nullptr) {
    auto submit = event(time, "submit", Json::object("userid", 7, "urgency", 16, "flags", 0, "version", 1));
    table.apply(Json::object("id", id, "events", Json::array_of(std::move(submit)), "jobspec", jobspec(queue)));
    tell(table, id, event(time + 1, "validate"));
    tell(table, id, event(time + 2, "depend"));
    tell(table, id, event(time + 3, "priority", Json::object("priority", priority)));
}

void start(Table& table, std::uint64_t id, double time) {
    auto context = Json::parse(R"({"annotations":{"sched":{"resource_summary":"x"}}})");
    auto alloc = event(time, "alloc", std::move(context));
    table.apply(Json::object("id", id, "events", Json::array_of(std::move(alloc)), "R", R()));
}

void end(Table& table, std::uint64_t id, double time, int status) {
    tell(table, id, event(time, "finish", Json::object("status", status)));
    tell(table, id, event(time + 1, "clean"));
}

std::vector<std::uint64_t> ids(const Table& table, const char* constraint, std::size_t limit = 0, double since = 0) {
    FilterRules rules;
    rules.parents.emplace("virtual", "real");
    Filter filter(Json::parse(constraint), rules);
    std::vector<std::uint64_t> result;
    for (const auto* job : table.select(filter, limit, since)) result.push_back(job->id.value());
    return result;
}

Json describe(const Table& table, std::uint64_t id) {
    return AttributeSet(Json::array_of("all")).describe(*table.find(JobId(id)));
}

using Ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("job-list: attributes follow the events", "[job-list]") {
    Table table;
    pend(table, 1, 10, 16);
    CHECK(describe(table, 1).equals(Json::parse(
        R"({"id":1,"userid":7,"urgency":16,"priority":16,"t_submit":10.0,"t_depend":11.0,"t_priority":12.0,
            "t_sched":13.0,"state":8,"name":"sleep","cwd":"/tmp","ntasks":2,"ncores":2,"duration":60.0})")));
    start(table, 1, 20);
    tell(table, 1, event(21, "memo", Json::parse(R"({"uri":"u"})")));
    tell(table, 1, event(22, "resource-update", Json::object("expiration", 99.0)));
    tell(table, 1, event(22, "jobspec-update", Json::object("attributes.system.duration", 79)));
    end(table, 1, 30, 256);
    CHECK(describe(table, 1).equals(Json::parse(
        R"({"id":1,"userid":7,"urgency":16,"priority":16,"t_submit":10.0,"t_depend":11.0,"t_priority":12.0,
            "t_sched":13.0,"t_run":20.0,"t_cleanup":30.0,"t_inactive":31.0,"state":64,"name":"sleep","cwd":"/tmp",
            "ntasks":2,"ncores":2,"duration":79.0,"nnodes":2,"ranks":"[0-1]","nodelist":"n[0-1]","success":false,
            "exception_occurred":false,"result":2,"expiration":99.0,
            "annotations":{"sched":{"resource_summary":"x"},"user":{"uri":"u"}},"waitstatus":256})")));
    CHECK_THROWS_WITH(AttributeSet(Json::array_of("foo")), "foo is not a valid attribute");
}

TEST_CASE("job-list: a cancelled job", "[job-list]") {
    Table table;
    pend(table, 1, 10, 0);
    tell(table, 1, event(14, "dependency-add", Json::object("description", "x")));
    tell(table, 1, event(14, "dependency-remove", Json::object("description", "x")));
    tell(table, 1, event(15, "exception", Json::object("type", "warn", "severity", 4, "note", "")));
    tell(table, 1, event(16, "exception", Json::object("type", "cancel", "severity", 0, "note", "why")));
    tell(table, 1, event(17, "exception", Json::object("type", "other", "severity", 0, "note", "")));
    tell(table, 1, event(18, "clean"));
    auto job = describe(table, 1);
    CHECK(job.get<double>("t_cleanup") == 16);
    CHECK(job.get<int>("result") == 4);
    CHECK(job.get<bool>("exception_occurred"));
    CHECK(job.get<std::string>("exception_type") == "cancel");
    CHECK(job.get<std::string>("exception_note") == "why");
    CHECK(job.get<int>("exception_severity") == 0);
    CHECK(job["dependencies"].dump() == "[]");
    for (const char* absent : {"t_run", "nnodes", "ranks", "expiration", "waitstatus", "annotations"})
        CHECK_FALSE(job.contains(absent));
}

TEST_CASE("job-list: order, limits and constraints", "[job-list]") {
    Table table;
    pend(table, 1, 10, 16);
    pend(table, 2, 11, 20, "virtual");
    pend(table, 3, 12, 16, "real");
    for (auto id : {4, 5, 6, 7}) pend(table, static_cast<std::uint64_t>(id), 13, 16);
    start(table, 4, 20);
    start(table, 5, 21);
    start(table, 6, 22);
    end(table, 6, 30, 0);
    start(table, 7, 23);
    end(table, 7, 40, 256);
    CHECK(ids(table, "{}") == Ids{2, 1, 3, 5, 4, 7, 6});
    CHECK(ids(table, "{}", 2) == Ids{2, 1});
    CHECK(ids(table, R"({"states":["inactive"]})", 0, 31) == Ids{7});
    CHECK(ids(table, R"({"states":[48]})") == Ids{5, 4});
    CHECK(ids(table, R"({"states":[]})").size() == 7);
    CHECK(ids(table, R"({"results":["completed"]})") == Ids{6});
    CHECK(ids(table, R"({"queue":["real"]})") == Ids{2, 3});
    CHECK(ids(table, R"({"and":[{"userid":[7]},{"not":[{"states":[126]}]}]})").empty());
    CHECK(ids(table, R"({"userid":[8]})").empty());
    CHECK(ids(table, R"({"or":[{"t_run":["<=21"]},{"results":[2]}]})") == Ids{5, 4, 7});
    CHECK(ids(table, R"({"hostlist":["n[1-5]"]})") == Ids{5, 4, 7, 6});
    CHECK(ids(table, R"({"ranks":["2-5"]})").empty());
    CHECK(ids(table, R"({"name":["sleep"]})").size() == 7);
    FilterRules rules;
    rules.max_comparisons = 3;
    auto constraint = Json::parse(R"({"hostlist":["x"]})");
    Filter costly(constraint, rules);
    CHECK_THROWS_WITH(table.select(costly, 0, 0), Catch::Contains("Excessive comparisons"));
}

TEST_CASE("job-list: bad constraints", "[job-list]") {
    for (const char* text : {"[]", R"({"a":[],"b":[]})", R"({"userid":7})", R"({"foo":[]})", R"({"userid":["x"]})",
                             R"({"states":["x"]})", R"({"states":[512]})", R"({"results":[99]})", R"({"name":[1]})",
                             R"({"hostlist":["n["]})", R"({"ranks":["2-1"]})", R"({"t_run":["5"]})",
                             R"({"t_run":["<x"]})", R"({"t_run":[]})", R"({"hostlist":["n[1-2000]"]})"})
        CHECK_THROWS_AS(Filter(Json::parse(text), FilterRules()), Error);
    std::string deep;
    for (int i = 0; i < 200; ++i) deep += R"({"not":[)";
    deep += "{}";
    for (int i = 0; i < 200; ++i) deep += "]}";
    CHECK_THROWS_AS(Filter(Json::parse(deep), FilterRules()), Error);
}

TEST_CASE("job-list: counts", "[job-list]") {
    Table table;
    pend(table, 1, 10, 16, "q");
    pend(table, 2, 11, 16);
    start(table, 2, 20);
    end(table, 2, 30, 0);
    auto counts = table.counts().to_json();
    CHECK(counts["job_states"].dump() ==
          R"({"depend":0,"priority":0,"sched":1,"run":0,"cleanup":0,"inactive":1,"total":2})");
    CHECK(counts.get<int>("successful") == 1);
    CHECK(counts["queues"][std::size_t(0)].get<std::string>("name") == "q");
    table.purge(JobId(1));
    table.purge(JobId(2));
    counts = table.counts().to_json();
    CHECK(counts["job_states"].get<int>("total") == 1);
    CHECK(counts.get<int>("inactive_purged") == 1);
    CHECK(counts.get<int>("successful") == 1);
    CHECK_FALSE(table.find(JobId(2)));
}

TEST_CASE("job-list: texts are kept once and go with their last use", "[job-list]") {
    TextPool pool;
    {
        auto a = pool.intern("x");
        auto b = pool.intern("x");
        auto c = b;
        CHECK(a.view().data() == c.view().data());
        CHECK(pool.size() == 1);
        a = pool.intern("y");
        CHECK(pool.size() == 2);
    }
    CHECK(pool.size() == 0);
    CHECK(Text().view().empty());
}
