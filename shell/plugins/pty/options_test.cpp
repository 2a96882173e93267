#include "options.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::shell;

TEST_CASE("option pty") {
    auto read = [](const char* json) {
        auto value = Json::parse(json);
        return PtyOptions::read(JsonView(value)["pty"], 4);
    };
    CHECK(read(R"({"pty":1})").ranks == Idset::below(4));
    CHECK(read(R"({"pty":1})").captured(0));
    CHECK(read(R"({"pty":0})").ranks.empty());
    auto interactive = read(R"({"pty":{"interactive":1}})");
    CHECK(interactive.ranks == Idset{0});
    CHECK_FALSE(interactive.captured(0));
    CHECK(interactive.captured(1));
    auto more = read(R"({"pty":{"interactive":1,"ranks":"1-2","capture":1}})");
    CHECK(more.ranks == Idset::below(3));
    CHECK(more.added_first);
    CHECK(more.captured(0));
    CHECK(read(R"({"pty":{"ranks":2}})").ranks == Idset{2});
    CHECK_THROWS_AS(read(R"({"pty":{"rank":2}})"), Error);
    CHECK_THROWS_AS(read(R"({"pty":{"ranks":"0-9"}})"), Error);
    CHECK_THROWS_AS(read(R"({"pty":{"interactive":true}})"), Error);
    CHECK_THROWS_AS(read(R"({"pty":"x"})"), Error);
}
