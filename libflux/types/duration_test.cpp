#include <flux/duration.hpp>
#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cmath>

using flux::format_duration;
using flux::parse_duration;

TEST_CASE("duration: parse", "[duration]") {
    struct Row {
        const char* text;
        double seconds;
    };
    auto row = GENERATE(values<Row>({{"2ms", 0.002},
                                     {"0.1s", 0.1},
                                     {"30", 30},
                                     {"5m", 300},
                                     {"1.2h", 4320},
                                     {"5d", 432000},
                                     {"0s", 0},
                                     {".5", 0.5},
                                     {"1e3s", 1000},
                                     {"inf", INFINITY},
                                     {"INFINITY", INFINITY}}));
    INFO(row.text);
    CHECK(parse_duration(row.text) == row.seconds);
}

TEST_CASE("duration: what does not parse", "[duration]") {
    std::string text = GENERATE("", "s", "-1", "-0", "nan", "1x", "1S", "1 s", "1sm", "infs", "-inf", "1e999", "0x10");
    INFO(text);
    CHECK_THROWS_WITH(parse_duration(text), "invalid duration '" + text + "'");
}

TEST_CASE("duration: format", "[duration]") {
    CHECK(format_duration(0) == "0ms");
    CHECK(format_duration(0.0021) == "2.1ms");
    CHECK(format_duration(0.1) == "0.1s");
    CHECK(format_duration(59.5) == "59.5s");
    CHECK(format_duration(90) == "1.5m");
    CHECK(format_duration(5400) == "1.5h");
    CHECK(format_duration(129600) == "1.5d");
    CHECK(format_duration(INFINITY) == "infinity");
    CHECK(format_duration(4000, 2) == "1.1h");
    CHECK_THROWS_AS(format_duration(-1), flux::Error);
    CHECK_THROWS_AS(format_duration(NAN), flux::Error);
}
