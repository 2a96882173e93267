#include "agent_files.hpp"
#include "agent_table.hpp"
#include "time_limit.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

using namespace flux;
using namespace flux::job_exec;
using namespace std::chrono_literals;

namespace {

using Entry = AgentTable::Entry;
using Signals = std::vector<std::pair<JobId, int>>;
using Ids = std::set<JobId>;

const JobId a(1);
const JobId b(2);

class Bench {
public:
    AgentTable table{KillTiming(), SIGKILL};
    Time now{};

    void run(JobId id) {
        table.launch(AgentJob(id, 7));
        table.started(id);
        table.take_changed();
        table.take_unsaved();
    }
};

} // namespace

TEST_CASE("a shell's life") {
    Bench bench;
    auto& table = bench.table;
    CHECK(table.launch(AgentJob(a, 7)));
    CHECK_FALSE(table.launch(AgentJob(a, 7)));
    CHECK(table.job(a)->userid == 7);
    CHECK(table.take_changed() == Ids{a});
    CHECK(table.take_unsaved() == Ids{});
    table.started(a);
    CHECK(table.report(a).state == ShellState::running);
    CHECK(table.take_changed() == Ids{a});
    CHECK(table.take_unsaved() == Ids{a});
    table.forget(a);
    CHECK(table.contains(a));
    table.ended(a, 256, 0, {}, Json::array_of(Json::object("stream", "stderr", "data", "x")));
    CHECK(table.take_changed() == Ids{a});
    CHECK(table.take_unsaved() == Ids{a});
    CHECK_FALSE(table.launch(AgentJob(a, 7)));
    CHECK(table.all_reports().dump() == R"([{"id":1,"state":"ended","entered":0,"released":0,"status":256,)"
                                        R"("output":[{"stream":"stderr","data":"x"}]}])");
    table.forget(a);
    CHECK(table.empty());
    CHECK(table.take_forgotten() == std::vector<JobId>{a});
    table.ended(a, 0, 0, {}, Json::array());
    table.signal(a, SIGTERM);
    CHECK(table.take_signals().empty());
}

TEST_CASE("a shell that cannot be started") {
    Bench bench;
    auto& table = bench.table;
    table.launch(AgentJob(a));
    table.failed(a, ENOENT, "error launching process: No such file or directory");
    table.started(a);
    CHECK(table.report(a).state == ShellState::failed);
    CHECK(table.reports_of({a, b}).size() == 1);
    CHECK_THROWS_AS(table.enter(a, 1), Error);
}

TEST_CASE("signals wait for the process") {
    Bench bench;
    auto& table = bench.table;
    table.launch(AgentJob(a));
    table.signal(a, SIGTERM);
    table.signal(a, SIGUSR1);
    CHECK(table.take_signals().empty());
    table.started(a);
    CHECK(table.take_signals() == Signals{{a, SIGTERM}, {a, SIGUSR1}});
    table.signal(a, SIGKILL);
    CHECK(table.take_signals() == Signals{{a, SIGKILL}});
    table.ended(a, SIGKILL, 0, {}, Json::array());
    table.signal(a, SIGTERM);
    CHECK(table.take_signals().empty());
}

TEST_CASE("barriers of a shell") {
    Bench bench;
    auto& table = bench.table;
    bench.run(a);
    CHECK_THROWS_AS(table.enter(b, 1), Error);
    CHECK_THROWS_AS(table.enter(a, 2), Error);
    CHECK_THROWS_AS(table.enter(a, 0), Error);
    CHECK(table.enter(a, 1) == Entry::wait);
    CHECK(table.take_changed() == Ids{a});
    CHECK(table.take_unsaved() == Ids{a});
    CHECK(table.enter(a, 1) == Entry::wait);
    table.release(a, 1);
    CHECK(table.take_unsaved() == Ids{a});
    CHECK(table.take_changed() == Ids{});
    CHECK(table.entry(a, 1) == Entry::pass);
    CHECK(table.enter(a, 1) == Entry::pass);
    CHECK(table.enter(a, 2) == Entry::wait);
    SECTION("refused") {
        table.release(a, 0);
        CHECK(table.entry(a, 2) == Entry::refuse);
        CHECK(table.entry(a, 1) == Entry::pass);
    }
    SECTION("ended") {
        table.ended(a, 0, 0, {}, Json::array());
        CHECK(table.entry(a, 2) == Entry::refuse);
    }
    SECTION("a late word") {
        table.release(a, 2);
        table.release(a, 1);
        CHECK(table.entry(a, 2) == Entry::pass);
    }
}

TEST_CASE("time limit with a coordinator") {
    Bench bench;
    auto& table = bench.table;
    bench.run(a);
    bench.run(b);
    table.set_limit(a, Time(10s));
    table.set_limit(b, Time(5s));
    CHECK(table.deadline() == Time(5s));
    table.set_limit(b, std::nullopt);
    CHECK(table.deadline() == Time(10s));
    table.on_time(Time(9s), false);
    CHECK(table.take_changed() == Ids{});
    table.on_time(Time(10s), false);
    CHECK(table.take_changed() == Ids{a});
    CHECK(table.report(a).expired);
    CHECK(table.take_signals().empty());
    CHECK(!table.deadline());
}

TEST_CASE("time limit while the coordinator is away") {
    Bench bench;
    auto& table = bench.table;
    bench.run(a);
    table.set_limit(a, Time(10s));
    table.on_time(Time(10s), true);
    CHECK(table.take_signals() == Signals{{a, SIGALRM}});
    table.on_time(Time(34s), true);
    CHECK(table.take_signals().empty());
    table.on_time(Time(35s), true);
    CHECK(table.take_signals() == Signals{{a, SIGKILL}});
    CHECK(table.deadline());
    table.ended(a, SIGKILL, 0, {}, Json::array());
    CHECK(!table.deadline());
    CHECK(table.contains(a));
}

TEST_CASE("shells that nobody needs") {
    Bench bench;
    auto& table = bench.table;
    bench.run(a);
    table.end(a, SIGTERM, bench.now);
    table.end(a, SIGTERM, bench.now);
    CHECK(table.take_signals() == Signals{{a, SIGTERM}});
    table.on_time(Time(25s), false);
    CHECK(table.take_signals() == Signals{{a, SIGKILL}});
    table.ended(a, SIGKILL, 0, {}, Json::array());
    CHECK(table.empty());
    CHECK(table.take_forgotten() == std::vector<JobId>{a});

    bench.run(b);
    table.ended(b, 0, 0, {}, Json::array());
    table.end(b, SIGTERM, bench.now);
    CHECK(table.empty());
}

TEST_CASE("rebuilding") {
    Bench bench;
    auto& table = bench.table;
    ShellReport last(a);
    last.state = ShellState::running;
    last.entered = 2;
    last.released = 1;
    AgentJob job(a, 7);
    job.limit = Time(1s);
    table.adopt(job, std::move(last));
    CHECK(table.enter(a, 2) == Entry::wait);
    CHECK(table.deadline() == Time(1s));
    table.signal(a, SIGTERM);
    CHECK(table.take_signals() == Signals{{a, SIGTERM}});
    table.ended(a, std::nullopt, ESRCH, "its process is gone", Json::array());
    CHECK(table.all_reports().dump() == R"([{"id":1,"state":"ended","entered":2,"released":1,"errnum":3,)"
                                        R"("error":"its process is gone"}])");
}

TEST_CASE("files of an agent") {
    auto directory = (std::filesystem::temp_directory_path() / "flux-test-XXXXXX").string();
    REQUIRE(::mkdtemp(directory.data()));
    {
        AgentFiles files(directory, 3);
        files.create(a, Json::object("launch", "a"));
        files.create(b, Json::object("launch", "b"));
        ShellReport report(a);
        report.state = ShellState::running;
        files.append(report);
        report.released = 1;
        files.append(report);
        std::ofstream(files.path(b), std::ios::app) << "{\"id\":2,\"sta"; // a crash within a line
        std::ofstream(files.path(JobId(3))) << "{}";
    }
    AgentFiles files(directory, 3);
    std::string text;
    auto visit = [&](JobId id, JsonView launch, ShellReport last) {
        text += id.dec() + launch.get<std::string>("launch") + std::to_string(static_cast<int>(last.state)) +
                std::to_string(last.released) + ' ';
    };
    Ids failed;
    files.read_all(visit, [&](JobId id, const Error&) { failed.insert(id); });
    CHECK((text == "1a11 2b00 " || text == "2b00 1a11 "));
    CHECK(failed == Ids{JobId(3)});
    files.remove(a);
    CHECK(!std::filesystem::exists(files.path(a)));
    std::filesystem::remove_all(directory);
}

TEST_CASE("a late start is made good for") {
    auto limit = [](double start, double expiration) {
        auto execution = Json::object("starttime", start, "expiration", expiration);
        return TimeLimit(execution);
    };
    CHECK(limit(1000, 1100).delay(1020, 25) == 0);
    CHECK(limit(1000, 1100).delay(1030, 25) == 30);
    CHECK(limit(1000, 1100).delay(990, 25) == 0);
    CHECK(limit(1000, 0).delay(1030, 25) == 0);
}
