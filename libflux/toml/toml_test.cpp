#include <flux/toml.hpp>

#include <catch2/catch.hpp>

using namespace flux;

TEST_CASE("TOML becomes JSON") {
    CHECK(parse_toml("a = 1\n[t]\nx = [1.5, 'two', true]\nd = 1979-05-27\n", "x").dump_sorted() ==
          R"({"a":1,"t":{"d":"1979-05-27","x":[1.5,"two",true]}})");
    CHECK(parse_toml("", "x").dump() == "{}");
    CHECK_THROWS_WITH(parse_toml("a = 1\nb = \n", "x.toml"), Catch::StartsWith("x.toml: line 2: "));
}
