#include "entry.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using flux::cron::Entry;

namespace {

Entry make(std::string_view type, std::string_view args, std::string_view more = "") {
    auto text = std::string(R"({"name":"n","command":"c","type":")").append(type).append(R"(","args":)");
    return Entry(1, Json::parse(text.append(args).append(more).append("}")), 100);
}

int refusal(std::string_view type, std::string_view args, std::string_view more = "") {
    try {
        make(type, args, more);
    } catch (const Error& error) {
        return error.errnum();
    }
    return 0;
}

} // namespace

TEST_CASE("cron entry: an interval", "[cron]") {
    auto entry = make("interval", R"({"interval":10,"after":1.5})", R"(,"repeat":2)");
    CHECK(entry.next_wakeup() == 101.5);
    entry.woken(101.5);
    CHECK(entry.next_wakeup() == 111.5);
    REQUIRE(entry.schedule(101.5));
    CHECK_FALSE(entry.schedule(102)); // one at a time
    CHECK(entry.finish(103, 0));
    entry.woken(200); // late: once, not nine times
    CHECK(entry.next_wakeup() == 210);
    REQUIRE(entry.schedule(200));
    CHECK(entry.stopped());
    CHECK_FALSE(entry.next_wakeup());
    CHECK_FALSE(entry.finish(201, 256));
    CHECK(entry.verdict() == "Failed: Exit 1");
    entry.start(300);
    CHECK(entry.next_wakeup() == 301.5);
}

TEST_CASE("cron entry: events", "[cron]") {
    auto entry = make("event", R"({"topic":"t","nth":3,"after":2})");
    std::string due;
    for (int i = 1; i <= 9; ++i) due += entry.count_event(100) ? '1' : '0';
    CHECK(due == "010010010");
    auto rare = make("event", R"({"topic":"t","min_interval":5})");
    REQUIRE(rare.count_event(100));
    REQUIRE(rare.schedule(100));
    CHECK_FALSE(rare.count_event(102));
    CHECK(rare.next_wakeup() == 105);
    rare.woken(105);
    CHECK_FALSE(rare.next_wakeup());
}

TEST_CASE("cron entry: it stops after failures", "[cron]") {
    auto entry = make("interval", R"({"interval":1})", R"(,"stop-on-failure":2)");
    for (int i = 0; i < 2; ++i) {
        CHECK_FALSE(entry.stopped());
        REQUIRE(entry.schedule(101));
        entry.finish(101, std::nullopt, ENOENT);
    }
    CHECK(entry.stopped());
    CHECK(entry.verdict() == "Rexec Failure: No such file or directory");
}

TEST_CASE("cron entry: a record gives the same entry", "[cron]") {
    auto entry = make("interval", R"({"interval":10})", R"(,"timeout":3,"task-history-count":2,"environ":{"A":"b"})");
    REQUIRE(entry.schedule(110));
    entry.finish(111, 15);
    REQUIRE(entry.schedule(120));
    auto record = entry.record();
    CHECK(Entry::from_record(record).record().dump() == record.dump());
    CHECK(Entry::from_record(record).current());
}

TEST_CASE("cron entry: what is refused", "[cron]") {
    CHECK(refusal("interval", "{}") == EPROTO);
    CHECK(refusal("interval", R"({"interval":0})") == EINVAL);
    CHECK(refusal("never", "{}") == ENOSYS);
    CHECK(refusal("event", "{}") == EPROTO);
    CHECK(refusal("datetime", R"({"hour":24})") == EINVAL);
    CHECK(refusal("interval", R"({"interval":1})", R"(,"environ":{"A":1})") == EPROTO);
}
