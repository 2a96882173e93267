#include "settings.hpp"

#include <catch2/catch.hpp>

using flux::HeartbeatSettings;
using flux::Json;
using namespace std::chrono_literals;

namespace {
HeartbeatSettings parse(const char* config, std::optional<std::string> period = {}) {
    return HeartbeatSettings(Json::parse(config), period);
}
} // namespace

TEST_CASE("heartbeat settings: defaults, configuration, argument", "[heartbeat]") {
    auto settings = parse("{}");
    CHECK(settings.period == 2s);
    CHECK(settings.timeout == 5min);
    CHECK(settings.warn_thresh == 3);
    settings = parse(R"({"heartbeat":{"period":"0.5s","timeout":"1m","warn_thresh":7}})");
    CHECK(settings.period == 500ms);
    CHECK(settings.timeout == 1min);
    CHECK(settings.timeout_text == "1m");
    CHECK(settings.warn_thresh == 7);
    CHECK(parse(R"({"heartbeat":{"period":"1s"}})", "100ms").period == 100ms);
    for (const char* off : {"0", "infinity", "inf"})
        CHECK(parse(("{\"heartbeat\":{\"timeout\":\"" + std::string(off) + "\"}}").c_str()).timeout == 0s);
}

TEST_CASE("heartbeat settings: errors", "[heartbeat]") {
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"period":2}})"),
                      "error reading [heartbeat] config table: Expected string, got integer");
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"warn_thresh":"3"}})"),
                      "error reading [heartbeat] config table: Expected integer, got string");
    CHECK_THROWS_WITH(parse(R"({"heartbeat":[]})"),
                      "error reading [heartbeat] config table: Expected object, got array");
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"perod":"2s"}})"),
                      "error reading [heartbeat] config table: unknown key 'perod'");
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"period":"0"}})"), Catch::Contains("heartbeat.period '0'"));
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"period":"inf"}})"), Catch::Contains("heartbeat.period 'inf'"));
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"period":"x"}})"), Catch::Contains("heartbeat.period"));
    CHECK_THROWS_WITH(parse(R"({"heartbeat":{"timeout":"3s"}})"), Catch::Contains("twice"));
}
