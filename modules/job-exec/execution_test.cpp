#include "mock_execution.hpp"
#include "past.hpp"
#include "shell_execution.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <csignal>

using namespace flux;
using namespace flux::job_exec;
using namespace std::chrono_literals;

namespace {

Job make_job(const char* ranks, const char* hosts, const char* system = "{}") {
    Job job;
    job.id = JobId(1234);
    job.jobspec = Json::object("version", 1, "attributes", Json::object("system", Json::parse(system)));
    auto node = Json::object("rank", ranks, "children", Json::object("core", "0"));
    auto execution = Json::object("R_lite", Json::array_of(std::move(node)), "nodelist", Json::array_of(hosts),
                                  "starttime", 0, "expiration", 0);
    job.R = Json::object("version", 1, "execution", std::move(execution));
    job.resources = ResourceSet::decode(job.R);
    return job;
}

Settings make_settings() {
    auto config = Json::object();
    return Settings::decode(config, {});
}

// What was ordered, one item a line, in a fixed order of kinds.
std::string text_of(const Orders& orders) {
    std::string text;
    for (const auto& event : orders.events) {
        text += "event " + event.name;
        if (!event.context.is_null()) text += ' ' + event.context.dump();
        text += '\n';
    }
    for (const auto& [type, data] : orders.answers) {
        text += "answer " + type;
        if (type == "exception")
            text += fmt::format(" {} {} {}", data.get<std::string>("type"), data.get<int>("severity"),
                                data.get<std::string>("note"));
        else if (!data.empty())
            text += ' ' + data.dump();
        text += '\n';
    }
    if (!orders.launch.empty()) text += "launch " + orders.launch.encode() + '\n';
    if (!orders.release.empty()) text += fmt::format("release {} {}\n", orders.barrier, orders.release.encode());
    if (!orders.refuse.empty()) text += "refuse " + orders.refuse.encode() + '\n';
    for (const auto& signal : orders.signals)
        text += fmt::format("signal {} {}\n", signal.signum, signal.ranks.encode());
    if (orders.kill_tasks) text += fmt::format("kill-tasks {}\n", *orders.kill_tasks);
    for (const auto& notice : orders.notices)
        text += fmt::format("notice {} {} {}\n", notice.severity, notice.shell, notice.message);
    for (const auto& drain : orders.drains)
        text += fmt::format("drain {} {}{}\n", drain.ranks.encode(), drain.reason, drain.give_up ? " (give up)" : "");
    return text;
}

// One job with its time.
class Bench {
public:
    explicit Bench(const char* ranks = "0", const char* hosts = "node0", const char* system = "{}")
        : job(make_job(ranks, hosts, system)), execution(job, settings) {}

    std::string orders() { return text_of(execution.take_orders(now)); }
    void init_and_begin() {
        execution.init();
        execution.begin(now);
        orders();
    }
    void running(std::uint32_t rank, int entered = 0, int released = 0) {
        ShellReport report(job.id);
        report.state = ShellState::running;
        report.entered = entered;
        report.released = released;
        execution.on_report(rank, report);
    }
    void ended(std::uint32_t rank, int status, int entered = 2) {
        ShellReport report(job.id);
        report.state = ShellState::ended;
        report.status = status;
        report.entered = report.released = entered;
        execution.on_report(rank, report);
    }
    void failed(std::uint32_t rank, int errnum, const char* error) {
        ShellReport report(job.id);
        report.state = ShellState::failed;
        report.errnum = errnum;
        report.error = error;
        execution.on_report(rank, report);
    }
    std::string at(Duration time) {
        now = Time() + time;
        execution.on_time(now);
        return orders();
    }

    Time now{};
    Settings settings = make_settings();
    Job job;
    ShellExecution execution;
};

} // namespace

TEST_CASE("a job of one shell") {
    Bench bench;
    bench.execution.init();
    CHECK(bench.orders() == "event init\nevent starting\n");
    bench.execution.begin(bench.now);
    CHECK(bench.orders() == "launch 0\n");
    bench.running(0);
    CHECK(bench.orders() == "answer start\n");
    CHECK(bench.execution.leader() == 0);
    bench.running(0);
    CHECK(bench.orders() == "");
    bench.ended(0, 256, 0);
    CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":256}\n"
                            "event complete {\"status\":256}\nevent done\nanswer finish {\"status\":256}\n");
    CHECK(bench.execution.finished());
    CHECK(!bench.execution.deadline());
    bench.ended(0, 0, 0);
    CHECK(bench.orders() == "");
}

TEST_CASE("a shell that has ended before its start was told") {
    Bench bench;
    bench.init_and_begin();
    bench.ended(0, 0, 0);
    CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":0}\nevent complete {\"status\":0}\n"
                            "event done\nanswer start\nanswer finish {\"status\":0}\n");
}

TEST_CASE("barriers and the end of a job of three shells") {
    Bench bench("2-4", "a,b,c");
    bench.init_and_begin();
    bench.running(2);
    bench.running(3);
    CHECK(bench.orders() == "");
    bench.running(4);
    CHECK(bench.orders() == "answer start\n");
    bench.running(2, 1);
    bench.running(3, 1);
    CHECK(bench.orders() == "");
    CHECK(bench.execution.deadline() == Time(30min));
    bench.running(4, 1);
    CHECK(bench.orders() == "release 1 2-4\n");
    CHECK(!bench.execution.deadline());
    bench.running(2, 2, 1);
    bench.running(3, 2, 1);
    CHECK(bench.orders() == "");
    bench.running(4, 2, 1);
    CHECK(bench.orders() == "release 2 2-4\n");
    bench.ended(2, 0);
    CHECK(bench.orders() == "event shell-exit {\"rank\":2,\"wait_status\":0,\"active_ranks\":\"3-4\"}\n");
    CHECK(bench.execution.deadline() == Time(30s));
    bench.ended(3, 256);
    bench.ended(4, 0);
    CHECK(bench.orders() == "event complete {\"status\":256}\nevent done\nanswer finish {\"status\":256}\n");
}

TEST_CASE("a barrier is complete when one was let through it before") {
    Bench bench("0-1", "a,b");
    bench.init_and_begin();
    bench.running(0, 2, 1);
    CHECK(bench.orders() == "release 1 0-1\n");
    bench.running(1, 1, 0);
    CHECK(bench.orders() == "answer start\n");
    bench.running(1, 2, 2);
    CHECK(bench.orders() == "release 2 0-1\n");
}

TEST_CASE("a shell that ends before the first barrier") {
    Bench bench("0-2", "a,b,c");
    bench.init_and_begin();
    bench.running(0, 1);
    bench.running(1);
    bench.running(2);
    bench.orders();
    bench.ended(1, 256, 0);
    CHECK(bench.orders() == "answer exception exec 0 b (rank 1) terminated before first barrier\nrefuse 0\n"
                            "signal 15 0,2\n");
    bench.running(2, 1);
    CHECK(bench.orders() == "refuse 2\n");
    bench.ended(0, 15, 1);
    bench.ended(2, 0, 1);
    CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":15}\nevent complete {\"status\":256}\n"
                            "event done\nanswer finish {\"status\":256}\n");
}

TEST_CASE("the first barrier has a time limit") {
    Bench bench("0-2", "a,b,c", R"({"exec":{"bulkexec":{"barrier-timeout":"10s"}}})");
    bench.init_and_begin();
    bench.running(0, 1);
    bench.orders();
    CHECK(bench.at(9s) == "");
    CHECK(bench.at(10s) == "answer exception exec 0 start barrier timeout waiting for 2/3 nodes (ranks 1-2)\n"
                           "signal 15 0-2\ndrain 1-2 job " +
                               bench.job.id.f58() + " start timeout: possible node hang\n");
}

TEST_CASE("shells that cannot be started") {
    Bench bench("0-3", "a,b,c,d");
    bench.init_and_begin();
    bench.running(0);
    bench.failed(1, ENOENT, "error launching process: No such file or directory");
    bench.failed(3, ENOENT, "error launching process: No such file or directory");
    CHECK(bench.orders() == "answer exception exec 0 job shell exec error on broker b,d (ranks 1,3): error launching "
                            "process: No such file or directory\nsignal 15 0,2\n");
    bench.failed(2, ENOSYS, "");
    bench.ended(0, 0, 0);
    CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":0}\nevent complete {\"status\":256}\n"
                            "event done\nanswer finish {\"status\":256}\n");

    Bench other;
    other.init_and_begin();
    other.failed(0, ENOSYS, "");
    CHECK(other.orders() == "event shell-exit {\"rank\":0,\"wait_status\":-1}\nevent complete {\"status\":256}\n"
                            "event done\nanswer exception exec 0 rexec service is not loaded on node0 (rank 0)\n"
                            "answer finish {\"status\":256}\n");
}

TEST_CASE("lost shells") {
    Bench bench("0-2", "a,b,c");
    bench.init_and_begin();
    for (std::uint32_t rank = 0; rank < 3; ++rank) bench.running(rank, 2, 2);
    bench.orders();
    SECTION("critical") {
        bench.execution.on_lost(1, Loss::broker);
        CHECK(bench.orders() == "answer exception exec 0 node failure on b (rank 1)\nsignal 15 0,2\n"
                                "notice 0 1 node failure on b (shell rank 1)\n");
    }
    SECTION("not critical") {
        bench.execution.set_critical(Idset{0});
        CHECK(bench.orders() == "event critical-ranks {\"ranks\":\"0\"}\n");
        bench.execution.on_lost(1, Loss::broker);
        CHECK(bench.orders() == "answer exception node-failure 2 node failure on b (shell rank 1)\nnotice 2 1 \n");
        CHECK(bench.execution.active_ranks() == Idset{0, 2});
        CHECK_THROWS_AS(bench.execution.set_critical(Idset{3}), Error);
    }
    SECTION("unknown to its agent") {
        bench.execution.on_absent(2);
        CHECK(bench.orders() == "answer exception exec 0 job shell is gone on c (rank 2)\nsignal 15 0-1\n"
                                "notice 0 2 job shell is gone on c (shell rank 2)\n");
    }
    SECTION("killed by a signal") {
        bench.ended(1, SIGKILL);
        CHECK(bench.orders() == "notice 0 1 shell rank 1 (on b): Killed\n");
        bench.ended(0, SIGSEGV);
        CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":11,\"active_ranks\":\"2\"}\n"
                                "answer exception exec 0 shell rank 0 (on a): Segmentation fault\nsignal 15 2\n");
    }
}

TEST_CASE("shells that outlive the leader") {
    Bench bench("0-1", "a,b");
    bench.init_and_begin();
    for (std::uint32_t rank = 0; rank < 2; ++rank) bench.running(rank, 2, 2);
    bench.ended(0, 0);
    bench.orders();
    CHECK(bench.at(30s) == "answer exception exec 0 job shells still active on b (rank 1) 30s after leader shell exit\n"
                           "signal 15 1\n");
}

TEST_CASE("killing") {
    Bench bench;
    bench.init_and_begin();
    bench.running(0);
    bench.orders();
    bench.execution.on_exception("cancel", 1, std::nullopt, bench.now);
    CHECK(bench.orders() == "");
    bench.execution.on_exception("cancel", 0, std::nullopt, bench.now);
    CHECK(bench.orders() == "signal 15 0\n");
    bench.execution.on_exception("cancel", 0, std::nullopt, bench.now);
    CHECK(bench.orders() == "signal 15 0\n");
    CHECK(bench.at(5s) == "kill-tasks 9\n");
    CHECK(bench.at(25s) == "signal 9 0\nkill-tasks 9\n");
    for (auto time : {30s, 40s, 60s, 100s, 180s, 340s}) bench.at(time);
    CHECK(bench.at(640s) ==
          "signal 9 0\nkill-tasks 9\ndrain 0 unkillable user processes for job " + bench.job.id.f58() + " (give up)\n");
    bench.execution.on_given_up(Idset{0});
    CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":1}\nevent complete {\"status\":1}\n"
                            "event done\nanswer finish {\"status\":1}\n");
}

TEST_CASE("the status of an exception wins") {
    for (auto [wait_status, finish] : {std::pair(256 * 3, 256 * 3), std::pair(9, 256 * 137)}) {
        Bench bench;
        bench.init_and_begin();
        bench.running(0);
        bench.orders();
        bench.execution.on_exception("exec", 0, wait_status, bench.now);
        bench.ended(0, 15, 0);
        bench.orders();
        CHECK(text_of(bench.execution.take_orders(bench.now)) == "");
        bench.execution.answer_again(Past(), true);
        CHECK(bench.orders() == fmt::format("answer reattached\nanswer finish {{\"status\":{}}}\n", finish));
    }
}

TEST_CASE("a job that is cancelled before it was launched") {
    Bench bench;
    bench.execution.init();
    bench.execution.on_exception("cancel", 0, std::nullopt, bench.now);
    CHECK(bench.orders() == "event init\nevent starting\nevent complete {\"status\":256}\nevent done\n"
                            "answer finish {\"status\":256}\n");
    bench.execution.begin(bench.now);
    CHECK(bench.orders() == "");
}

TEST_CASE("time limit") {
    Bench bench("0-1", "a,b");
    bench.init_and_begin();
    bench.running(0, 2, 2);
    bench.running(1, 2, 2);
    bench.orders();
    ShellReport report(bench.job.id);
    report.state = ShellState::running;
    report.entered = report.released = 2;
    report.expired = true;
    bench.execution.on_report(1, report);
    CHECK(bench.orders() == "answer exception timeout 0 resource allocation expired\nsignal 14 0-1\n");
    bench.execution.on_report(0, report);
    CHECK(bench.orders() == "");
}

TEST_CASE("output of shells") {
    Bench bench;
    bench.init_and_begin();
    ShellReport report(bench.job.id);
    report.state = ShellState::ended;
    report.status = 256;
    report.output.append(Json::object("stream", "stderr", "data", "oops\n"));
    bench.execution.on_report(0, report);
    CHECK(bench.orders().starts_with(
        "event log {\"component\":\"flux-shell\",\"stream\":\"stderr\",\"rank\":\"0\",\"data\":\"oops\\n\"}\n"));
}

TEST_CASE("an order that got lost is given again") {
    Bench bench("0-1", "a,b");
    bench.init_and_begin();
    bench.running(0);
    bench.execution.on_absent(1);
    CHECK(bench.orders() == "launch 1\n");
}

TEST_CASE("taking over") {
    Bench bench("0-1", "a,b");
    Past past;
    past.begun = true;
    SECTION("a running job") {
        past.started = true;
        past.critical = Idset{0};
        bench.execution.take_over(past, true, bench.now);
        CHECK(bench.orders() == "event reattach\nanswer reattached\n");
        bench.running(0, 2, 2);
        CHECK(bench.orders() == "release 2 0-1\n");
        bench.execution.on_absent(1);
        CHECK(bench.orders() == "answer exception node-failure 2 job shell is gone on b (shell rank 1)\nnotice 2 1 \n");
        bench.ended(0, 0);
        CHECK(bench.orders() == "event shell-exit {\"rank\":0,\"wait_status\":0}\nevent complete {\"status\":0}\n"
                                "event done\nanswer finish {\"status\":0}\n");
    }
    SECTION("a job whose start was not told") {
        bench.execution.take_over(past, false, bench.now);
        CHECK(bench.orders() == "event reattach\nlaunch 0-1\n");
        bench.running(0);
        bench.ended(1, 0, 0);
        CHECK(bench.orders().starts_with("answer start\n"));
    }
    SECTION("a job that is being killed") {
        past.started = past.fatal = true;
        past.fatal_at = Time() - 6s;
        bench.execution.take_over(past, true, bench.now);
        CHECK(bench.orders() == "event reattach\nanswer reattached\nsignal 15 0-1\n");
        CHECK(bench.at(0s) == "kill-tasks 9\n");
        CHECK(bench.execution.deadline() == Time(4s));
    }
    SECTION("a job that was cancelled before it had shells") {
        past.fatal = true;
        bench.execution.take_over(past, true, bench.now);
        CHECK(bench.orders() == "event reattach\nsignal 15 0-1\n");
        bench.execution.on_absent(0);
        bench.execution.on_absent(1);
        CHECK(bench.orders() == "event complete {\"status\":256}\nevent done\nanswer finish {\"status\":256}\n");
    }
    SECTION("a job that is over") {
        past.started = true;
        past.complete = 512;
        bench.execution.take_over(past, true, bench.now);
        CHECK(bench.orders() == "event done\nanswer reattached\nanswer finish {\"status\":512}\n");
        CHECK(bench.execution.finished());
    }
}

TEST_CASE("what eventlogs tell") {
    Past past;
    read_exec_eventlog("{\"timestamp\":1.0,\"name\":\"init\"}\n{\"timestamp\":1.0,\"name\":\"starting\"}\n"
                       "{\"timestamp\":2.0,\"name\":\"critical-ranks\",\"context\":{\"ranks\":\"0-1\"}}\n"
                       "{\"timestamp\":2.0,\"name\":\"shell-exit\",\"context\":{\"rank\":0,\"wait_status\":0}}\n",
                       past);
    CHECK(past.begun);
    CHECK(past.leader_exited);
    CHECK(past.critical == Idset{0, 1});
    CHECK(!past.complete);
    Time now(100s);
    read_job_eventlog("{\"timestamp\":1000.0,\"name\":\"start\"}\n"
                      "{\"timestamp\":1001.0,\"name\":\"exception\",\"context\":{\"type\":\"x\",\"severity\":1,"
                      "\"userid\":0}}\n"
                      "{\"timestamp\":1002.0,\"name\":\"exception\",\"context\":{\"type\":\"timeout\",\"severity\":0,"
                      "\"userid\":0}}\n",
                      1004, now, past);
    CHECK(past.started_at == Time(96s));
    CHECK(past.fatal);
    CHECK(past.fatal_type == "timeout");
    CHECK(past.fatal_at == Time(98s));
    CHECK(!past.fatal_wait_status);
}

TEST_CASE("mock execution") {
    auto settings = make_settings();
    auto run = [&](const char* system) {
        auto job = make_job("0", "a", system);
        REQUIRE(MockExecution::wanted(job));
        MockExecution execution(job, settings);
        Time now{};
        execution.init();
        execution.begin(now);
        auto text = text_of(execution.take_orders(now));
        if (auto deadline = execution.deadline()) {
            execution.on_time(*deadline);
            text += fmt::format("after {}s\n", to_seconds(deadline->time_since_epoch()));
            text += text_of(execution.take_orders(*deadline));
        }
        return text;
    };
    CHECK(run(R"({"exec":{"test":{"run_duration":"2s","wait_status":512}}})") ==
          "event init\nevent starting\nevent recoverable\nanswer start\nafter 2s\n"
          "event complete {\"status\":512}\nevent done\nanswer finish {\"status\":512}\n");
    CHECK(run(R"({"exec":{"test":{}}})") == "event init\nevent starting\nevent recoverable\n"
                                            "event complete {\"status\":0}\nevent done\nanswer start\n"
                                            "answer finish {\"status\":0}\n");
    CHECK(run(R"({"exec":{"test":{}},"duration":0})") ==
          "event init\nevent starting\nevent recoverable\nanswer start\n");
    CHECK(run(R"({"exec":{"test":{"mock_exception":"init"}}})") ==
          "event init\nevent starting\nevent complete {\"status\":256}\nevent done\n"
          "answer exception exec 0 mock init exception generated\nanswer finish {\"status\":256}\n");
}

TEST_CASE("mock execution in override mode") {
    auto settings = make_settings();
    auto job = make_job("0", "a", R"({"exec":{"test":{"override":1}}})");
    MockExecution execution(job, settings);
    Time now{};
    execution.init();
    execution.begin(now);
    CHECK(text_of(execution.take_orders(now)) == "event init\nevent starting\nevent recoverable\n");
    CHECK_THROWS_AS(execution.override_event("finish", 0, now), Error);
    execution.override_event("start", 0, now);
    CHECK(text_of(execution.take_orders(now)) == "answer start\n");
    CHECK_THROWS_AS(execution.override_event("start", 0, now), Error);
    execution.override_event("finish", 256, now);
    CHECK(execution.take_orders(now).events.size() == 2);
    CHECK(execution.finished());
    job.guest = true;
    CHECK_THROWS_AS(MockExecution(job, settings), Error);
}
