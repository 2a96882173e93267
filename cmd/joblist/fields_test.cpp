#include "cmd/joblist/fields.hpp"
#include "cmd/joblist/query.hpp"
#include "cmd/output/listing.hpp"
#include "cmd/select/select.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <clocale>
#include <fstream>
#include <iterator>

using namespace flux;
using namespace flux::joblist;

namespace {

const std::string transcripts = FLUX_TEST_VECTORS "/reference/transcripts/";

std::string field(const char* json, const char* name, double now = 100) {
    auto value = Json::parse(json);
    return output::to_text(Job(value, now).field(name));
}

/// The jobs of a recorded listing.
std::vector<Json> recorded(const std::string& name) {
    std::ifstream file(transcripts + name + ".jsonl");
    std::vector<Json> jobs;
    for (std::string line; std::getline(file, line);) {
        auto message = Json::parse(line);
        if (message["type"].try_as<std::string_view>() != "response" || !message["payload"]) continue;
        for (auto job : message["payload"]["jobs"].elements()) jobs.push_back(job.copy());
    }
    return jobs;
}

} // namespace

TEST_CASE("a recorded listing is printed as recorded") {
    std::setlocale(LC_CTYPE, "C.UTF-8");
    auto jobs = recorded("66-jobs");
    REQUIRE(!jobs.empty());
    std::vector<output::Row> rows;
    for (const auto& job : jobs)
        rows.push_back([&job](std::string_view name) { return Job(job, 1795968674).field(name); });
    auto format = output::Format::parse("{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} "
                                        "{status_abbrev:>2.2} {ntasks:>6} {nnodes:>6h} {contextual_time!F:>8h} "
                                        "{contextual_info}",
                                        &heading);
    output::Listing listing(format, rows, true);
    auto text = listing.header() + "\n";
    for (const auto& row : rows) text += listing.line(row) + "\n";
    std::ifstream expected(transcripts + "66-jobs.stdout");
    CHECK(text == std::string(std::istreambuf_iterator<char>(expected), {}));
}

TEST_CASE("recorded JSON has the recorded keys") {
    auto jobs = recorded("67-jobs-json");
    std::ifstream file(transcripts + "67-jobs-json.stdout");
    auto expected = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    REQUIRE(jobs.size() == expected["jobs"].size());
    for (std::size_t index = 0; index < jobs.size(); ++index) {
        auto ours = to_json(Job(jobs[index], 1795968674));
        CHECK(ours.dump_sorted() == expected["jobs"][index].dump_sorted());
    }
}

TEST_CASE("fields of a job that waits") {
    CHECK(field(R"({"state":8,"urgency":0})", "contextual_info") == "held");
    CHECK(field(R"({"state":8,"urgency":16,"priority":0})", "contextual_info") == "priority-hold");
    CHECK(field(R"({"state":8,"annotations":{"sched":{"t_estimate":160}}})", "contextual_info") == "eta:1m");
    CHECK(field(R"({"state":8,"annotations":{"sched":{"t_estimate":60}}})", "contextual_info") == "eta:now");
    CHECK(field(R"({"state":2,"dependencies":["a","b"]})", "contextual_info") == "depends:a,b");
    CHECK(field(R"({"state":8,"nnodes":2})", "nnodes").empty());
    CHECK(field(R"({"state":8,"duration":5})", "contextual_time") == "5.0");
    CHECK(field(R"({"state":8})", "sched.reason_pending").empty());
    CHECK(field(R"({"state":8})", "uri") == "None");
}

TEST_CASE("fields of a job that runs") {
    const char* job = R"({"state":16,"t_run":40,"expiration":130,"nodelist":"n[0-1]","annotations":)"
                      R"({"user":{"uri":"ssh://h/run/local","x":{"y":1}}}})";
    CHECK(field(job, "runtime") == "60.0");
    CHECK(field(job, "t_remaining") == "30.0");
    CHECK(field(job, "contextual_info") == "n[0-1]");
    CHECK(field(job, "uri") == "ssh://h/run/local");
    CHECK(field(job, "uri.local") == "local:///run/local");
    CHECK(field(job, "user.x") == R"({"y":1})");
    CHECK(field(job, "annotations.user.x.y") == "1");
    CHECK(field(job, "returncode").empty());
    CHECK(field(job, "status") == "RUN");
}

TEST_CASE("why a job ended") {
    auto reason = [](const char* json) { return field(json, "inactive_reason"); };
    CHECK(reason(R"({"state":64,"result":1,"waitstatus":0})") == "Exit 0");
    CHECK(reason(R"({"state":64,"result":2,"waitstatus":256})") == "Exit 1");
    CHECK(reason(R"({"state":64,"result":2,"waitstatus":32512})") == "command not found");
    CHECK(reason(R"({"state":64,"result":2,"waitstatus":9})") == "Killed");
    CHECK(reason(R"({"state":64,"result":2,"waitstatus":36608})") == "Terminated");
    CHECK(reason(R"({"state":64,"result":8})") == "Timeout");
    CHECK(reason(R"({"state":64,"result":4,"exception_note":"why"})") == "Canceled: why");
    CHECK(reason(R"({"state":64,"result":2,"exception_occurred":true,"exception_severity":0,)"
                 R"("exception_type":"exec","exception_note":"x"})") == "Exception: type=exec note=x");
    CHECK(reason(R"({"state":16})").empty());
}

TEST_CASE("attributes that are asked for") {
    using Names = std::vector<std::string>;
    CHECK(attributes({"id", "name", "status_abbrev"}) == Names{"name", "result", "state"});
    CHECK(attributes({"user.x"}) == Names{"annotations"});
    CHECK(heading("annotations.user.x") == "USER.X");
    CHECK_FALSE(heading("nosuch"));
}

TEST_CASE("queries") {
    Query query;
    query.attributes = {"name"};
    query.max_entries = 3;
    query.userid = 7;
    query.filter.add({"pending", "RUNNING"});
    CHECK(query.payload().dump() == R"({"max_entries":3,"attrs":["name"],"since":0.0,"constraint":)"
                                    R"({"and":[{"userid":[7]},{"states":[62]}]}})");
    query.userid = select::all_users;
    query.filter.add({"failed"});
    query.include = "0-1";
    query.queues = {"a", "b"};
    CHECK(query.payload()["constraint"].dump() == R"({"and":[{"ranks":["0-1"]},{"queue":["a","b"]},)"
                                                  R"({"or":[{"states":[62]},{"results":[2]}]}]})");
    CHECK_THROWS_WITH(query.filter.add({"x"}), "Invalid filter specified: x");
}

TEST_CASE("statistics of jobs") {
    auto answer = Json::parse(R"({"job_states":{"depend":1,"priority":2,"sched":3,"run":4,"cleanup":5,"inactive":6,)"
                              R"("total":21},"successful":3,"failed":1,"canceled":1,"timeout":1,"inactive_purged":7,)"
                              R"("queues":[{"name":"a","job_states":{"run":2},"failed":1}]})");
    Stats all(answer);
    CHECK(all.line() == "9 running, 3 completed, 3 failed, 6 pending");
    CHECK(all.brief() == "PD:6 R:9 CD:3 F:3");
    CHECK(all.active() == 15);
    CHECK(all.total == 21);
    CHECK(all.purged == 7);
    CHECK(Stats(answer, {"a"}).line() == "2 running, 0 completed, 1 failed, 0 pending");
    CHECK_THROWS_WITH(Stats(answer, {"b"}), "no stats available for queue b");
}

TEST_CASE("fields of instances") {
    CHECK(heading("instance.resources.all.ncores") == "CORES");
    CHECK(heading("instance.resources.allocated.nnodes") == "USED");
    CHECK(heading("instance.progress") == "PROG");
    CHECK_FALSE(heading("instance.resources.some.nnodes"));
    CHECK_FALSE(heading("instance.resources.all.nthings"));
    CHECK(attributes({"instance.stats"}) == std::vector<std::string>{"annotations", "state"});
    CHECK(field(R"({"state":16})", "instance.stats").empty());
}
