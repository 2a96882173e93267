#include "options.hpp"

#include <catch2/catch.hpp>

using namespace flux;

namespace {

DatabaseOptions parse(const char* config, std::vector<std::string> arguments = {}, bool temporary = false) {
    std::vector<std::string> notices;
    return parse_options(Json::parse(config), arguments, temporary, notices);
}

} // namespace

TEST_CASE("options: arguments win over configuration over defaults", "[content-sqlite]") {
    CHECK(parse("{}").synchronous == "NORMAL");
    CHECK(parse("{}", {}, true).synchronous == "OFF");
    CHECK(parse(R"({"content-sqlite":{"synchronous":"FULL"}})", {}, true).synchronous == "FULL");
    CHECK(parse(R"({"content-sqlite":{"synchronous":"FULL"}})", {"synchronous=EXTRA"}).synchronous == "EXTRA");
    CHECK(parse(R"({"content-sqlite":{"max_checkpoints":2}})").max_checkpoints == 2);
    CHECK(parse("{}", {"max-checkpoints=7", "truncate"}).max_checkpoints == 7);
    CHECK(parse("{}", {"truncate"}).truncate);
    CHECK(parse(R"({"content-sqlite":{"preallocate":1000}})").preallocate == 1000);
}

TEST_CASE("options: what is invalid is named", "[content-sqlite]") {
    CHECK_THROWS_WITH(parse("{}", {"foo=1"}), "unknown argument 'foo=1'");
    CHECK_THROWS_WITH(parse("{}", {"journal_mode=wal"}), "invalid journal_mode 'wal'");
    CHECK_THROWS_WITH(parse("{}", {"synchronous="}), "invalid synchronous ''");
    CHECK_THROWS_WITH(parse("{}", {"max-checkpoints=0"}), "invalid max_checkpoints 0");
    CHECK_THROWS_WITH(parse("{}", {"max-checkpoints=3x"}), "invalid max-checkpoints '3x'");
    CHECK_THROWS_WITH(parse(R"({"content-sqlite":{"synchronous":3}})"),
                      Catch::StartsWith("[content-sqlite] config: ") && Catch::Contains("synchronous"));
}

TEST_CASE("options: another journal mode is accepted with a notice", "[content-sqlite]") {
    std::vector<std::string> notices;
    auto config = Json::parse(R"({"content-sqlite":{"journal_mode":"OFF"}})");
    parse_options(config, {"journal_mode=WAL"}, false, notices);
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], Catch::Contains("OFF"));
}
