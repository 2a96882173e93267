#include "calendar.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <ctime>

using namespace flux;
using flux::cron::Calendar;

namespace {

constexpr double saturday = 1709337600; // 2024-03-02 00:00:00 UTC

std::optional<double> next(const char* fields, double time) {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    return Calendar(Json::parse(fields)).next_after(time);
}

} // namespace

TEST_CASE("calendar: the next time that matches", "[cron]") {
    CHECK(next("{}", saturday) == saturday + 1);
    CHECK(next(R"({"second":0})", saturday) == saturday + 60);
    CHECK(next(R"({"second":0,"minute":30})", saturday) == saturday + 1800);
    CHECK(next(R"({"second":0,"minute":30})", saturday + 1800) == saturday + 5400);
    CHECK(next(R"({"second":0,"minute":0,"hour":3})", saturday + 4 * 3600) == saturday + 27 * 3600);
    CHECK(next(R"({"second":0,"minute":"*/20"})", saturday + 1201) == saturday + 2400);
    CHECK(next(R"({"second":0,"minute":"10-20/5,50"})", saturday + 1200) == saturday + 3000);
    CHECK(next(R"({"second":"30","minute":59,"hour":"23"})", saturday + 86370) == saturday + 2 * 86400 - 30);
    CHECK(next(R"({"second":0,"minute":0,"hour":0,"weekday":1})", saturday) == saturday + 2 * 86400);
    CHECK(next(R"({"second":0,"minute":0,"hour":0,"mday":1,"month":3})", saturday) == saturday + 30 * 86400);
    CHECK(next(R"({"second":0,"minute":0,"hour":0,"mday":31,"month":1})", saturday) == std::nullopt);
    CHECK(next(R"({"year":123})", saturday) == std::nullopt);
}

TEST_CASE("calendar: a field is seen through", "[cron]") {
    auto fields = Calendar(Json::parse(R"({"minute":"0-30/10","mday":5,"weekday":"*"})")).to_json();
    CHECK(fields.dump() == R"({"second":"0-60","minute":"0,10,20,30","hour":"0-23","mday":"5","month":"0-11",)"
                           R"("year":"0-1100","weekday":"0-6"})");
    for (const char* bad : {R"({"minute":60})", R"({"mday":0})", R"({"hour":"5-2"})", R"({"hour":"*/0"})",
                            R"({"hour":""})", R"({"hour":"1,"})", R"({"hour":[1]})", R"({"hour":"1-"})"})
        CHECK_THROWS_AS(Calendar(Json::parse(bad)), Error);
}
