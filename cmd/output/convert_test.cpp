#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cmd/output/convert.hpp>
#include <cstdlib>
#include <limits>
#include <time.h>

using namespace flux::output;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string converted(const Value& value, char conversion, const char* pattern = "") {
    return to_text(convert(value, conversion, pattern));
}

} // namespace

TEST_CASE("conversion: durations", "[output]") {
    const auto [seconds, expected] = GENERATE(table<double, std::string>({
        {0, "0s"},
        {0.0009, "0s"},
        {0.039, "0.039s"},
        {2.807, "2.807s"},
        {9.9994, "9.999s"},
        {12.3456, "12.35s"},
        {90, "1.5m"},
        {3600, "1h"},
        {5400, "1.5h"},
        {86400, "1d"},
        {-1, "0s"},
        {infinity, "inf"},
    }));
    CHECK(converted(seconds, 'F') == expected);
    CHECK(converted("", 'F').empty());
    CHECK(converted(Absent{}, 'F').empty());
    CHECK(converted("90", 'F') == "1.5m");
    CHECK_THROWS_AS(converted("soon", 'F'), flux::Error);
}

TEST_CASE("conversion: clocks", "[output]") {
    const auto [seconds, expected] = GENERATE(table<double, std::string>({
        {0, "0:00:00"},
        {0.2, "0:00:01"},
        {60.5, "0:01:00"},
        {61.5, "0:01:02"},
        {3599.6, "1:00:00"},
        {86399.6, "1 day, 0:00:00"},
        {90061, "1 day, 1:01:01"},
        {172800, "2 days, 0:00:00"},
        {-1, "-1 day, 23:59:59"},
        {infinity, "inf"},
    }));
    CHECK(converted(seconds, 'H') == expected);
    CHECK(converted("", 'H').empty());
}

TEST_CASE("conversion: percentages", "[output]") {
    CHECK(converted(0.0, 'P') == "0%");
    CHECK(converted(0.0012, 'P') == "0.12%");
    CHECK(converted(0.5, 'P') == "50%");
    CHECK(converted(0.98765, 'P') == "98.8%");
    CHECK(converted(1, 'P') == "100%");
    CHECK(converted("", 'P').empty());
}

TEST_CASE("conversion: dates are local", "[output]") {
    ::setenv("TZ", "UTC-2", 1);
    ::tzset();
    CHECK(converted(1700000000.9, 'd') == "2023-11-15T00:13:20");
    CHECK(converted(1700000000, 'D') == "2023-11-15T00:13:20");
    CHECK(converted(1700000000, 'd', "%b%d %R") == "Nov15 00:13");
    CHECK(converted(0.0, 'd').empty());
    CHECK(converted(0, 'D').empty());
    CHECK(converted("", 'd', "%R").empty());
    CHECK_THROWS_AS(converted(infinity, 'd'), flux::Error);
    CHECK_THROWS_AS(converted(1e300, 'D'), flux::Error);
    ::unsetenv("TZ");
    ::tzset();
}

TEST_CASE("conversion: texts", "[output]") {
    CHECK(converted(true, 's') == "True");
    CHECK(converted(Spelled{1, "ƒ2"}, 's') == "ƒ2");
    CHECK(converted("a'b", 'r') == "\"a'b\"");
    CHECK(converted("ƒ\x01\n'\"\\", 'r') == "'ƒ\\x01\\n\\'\"\\\\'");
    CHECK(converted("ƒ\u00a0🏃", 'a') == "'\\u0192\\xa0\\U0001f3c3'");
    CHECK(converted(2.0, 'r') == "2.0");
    CHECK_THROWS_WITH(converted("x", 'X'), "Unknown conversion specifier X");
}
