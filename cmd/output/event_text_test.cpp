#include "cmd/output/event_text.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <ctime>

using namespace flux;
using namespace flux::output;

namespace {

EventlogEntry event(double time) {
    return EventlogEntry(time, "x", Json::object("a", 1, "b", "t u", "c", Json::object("d", true)));
}

} // namespace

TEST_CASE("times of events") {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    auto lines = [](EventTime time) {
        EventText text(time, false);
        std::string all;
        for (double at : {1795968670.9091, 1795968671.0, 1795968721.25})
            all += text.line(EventlogEntry(at, "e")) + "\n";
        return all;
    };
    CHECK(lines(EventTime::raw) == "1795968670.909100 e\n1795968671.000000 e\n1795968721.250000 e\n");
    CHECK(lines(EventTime::iso) ==
          "2026-11-29T16:11:10.909100Z e\n2026-11-29T16:11:11.000000Z e\n2026-11-29T16:12:01.250000Z e\n");
    CHECK(lines(EventTime::offset) == "0.000000 e\n0.090900 e\n50.340900 e\n");
    CHECK(lines(EventTime::reltime) == "0.000000 e\n0.090900 e\n50.250000 e\n");
    CHECK(lines(EventTime::human) == "[Nov29 16:11] e\n[  +0.090900] e\n[Nov29 16:12] e\n");
    CHECK_THROWS_AS(parse_event_time("x"), Error);
}

TEST_CASE("context of events") {
    CHECK(EventText(EventTime::offset, false).line(event(5)) == R"(0.000000 x a=1 b="t u" c={"d":true})");
    auto painted = EventText(EventTime::offset, true).line(event(5));
    CHECK(painted.find("\033[33mx\033[0m") != std::string::npos);
    CHECK(painted.find("\033[35m\"t u\"\033[0m") != std::string::npos);
}

TEST_CASE("ISO times are read back") {
    CHECK(parse_iso_time("2026-11-29T16:11:10.909100Z") == Approx(1795968670.9091));
    CHECK(parse_iso_time("2026-11-29T17:11:10.909100+01:00") == Approx(1795968670.9091));
    CHECK(parse_iso_time("2026-11-29T15:41:10-00:30") == 1795968670);
    CHECK(parse_iso_time("x") == 0);
}

TEST_CASE("differences to the line before") {
    HumanTime time(true);
    CHECK(time.next(1795968670).minute);
    CHECK(time.next(1795968671).text == "[  +1.000000]");
    CHECK(time.next(1795968671.5).text == "[  +0.500000]");
}
