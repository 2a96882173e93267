#include <flux/config_files.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace flux;

TEST_CASE("config: specs of the command line", "[config]") {
    CHECK(parse_config_spec("tbon.topo=kary:2").dump() == R"({"tbon":{"topo":"kary:2"}})");
    CHECK(parse_config_spec("a.n=4").find("a.n").as<int>() == 4);
    CHECK(parse_config_spec("{\"a\":true}").get<bool>("a"));
    CHECK(parse_config_spec("[t]\nk = [1, 2]\n").find("t.k").size() == 2);
    CHECK_THROWS_WITH(parse_config_spec("[t\n"), Catch::StartsWith("Config file error: --conf: line 1"));
}

TEST_CASE("config: a directory is merged in order of names", "[config]") {
    char path[] = "/tmp/flux-config-test-XXXXXX";
    REQUIRE(::mkdtemp(path));
    std::string folder(path);
    std::ofstream(folder + "/a.toml") << "[t]\nx = 1\ny = 1\n";
    std::ofstream(folder + "/b.toml") << "[t]\ny = 2\n";
    std::ofstream(folder + "/ignored.txt") << "nonsense";
    CHECK(read_config(folder).dump() == R"({"t":{"x":1,"y":2}})");
    std::ofstream(folder + "/c.toml") << "x = \n";
    CHECK_THROWS_WITH(read_config(folder), Catch::Contains("c.toml: line 1"));
    std::filesystem::remove_all(folder);
    CHECK_THROWS_AS(read_config(folder), Error);
}
