#include "libflux/manifest/manifest.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;

namespace {

Manifest::Facts facts(std::uint32_t rank) {
    Manifest::Facts result;
    result.rank = rank;
    result.config_has = [](const std::string& key) { return key == "systemd.enable"; };
    result.attribute_set = [](const std::string&) { return false; };
    return result;
}

Manifest example() {
    Manifest manifest;
    auto table = Json::parse(R"({"modules":[
        {"name":"b","after":["a"]}, {"name":"a"}, {"name":"zero","ranks":"0"}, {"name":"others","ranks":">0"},
        {"name":"x1","provides":["x"],"priority":50,"after":["b"]}, {"name":"x2","provides":["x"],"priority":40},
        {"name":"first","before":["a"]}, {"name":"sd","needs-config":["systemd.enable"]},
        {"name":"nosd","needs-config":["!systemd.enable"]}, {"name":"user","requires":["x"],"after":["x"]}]})");
    manifest.add(table, "test");
    return manifest;
}

} // namespace

TEST_CASE("manifest: selection and order", "[manifest]") {
    auto manifest = example();
    manifest.select(facts(0));
    CHECK(manifest.order() == std::vector<std::string>{"first", "sd", "zero", "a", "b", "x1", "user"});
    auto other = example();
    auto chosen = facts(1);
    chosen.alternatives["x"] = "x2";
    other.select(chosen);
    CHECK(other.order() == std::vector<std::string>{"first", "others", "sd", "x2", "a", "b", "user"});
}

TEST_CASE("manifest: cleanup commands of what is active, in order of loading", "[manifest]") {
    Manifest manifest;
    manifest.add(Json::parse(R"({"modules":[{"name":"b","after":["a"],"cleanup":["three"]},
        {"name":"a","cleanup":["one","two"]}, {"name":"c","ranks":">0","cleanup":["never"]}]})"),
                 "test");
    manifest.select(facts(0));
    CHECK(manifest.cleanup_commands() == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("manifest: what is refused", "[manifest]") {
    Manifest manifest;
    CHECK_THROWS_WITH(manifest.add(Json::parse(R"({"modules":[{"name":"a","wrong":1}]})"), "f.toml"),
                      "f.toml: module a: wrong: unknown key");
    CHECK_THROWS_AS(manifest.add(Json::parse(R"({"nobody":{"args":[]}})"), "f.toml"), Error);
    manifest.add(Json::parse(R"({"modules":[{"name":"a","after":["b"]},{"name":"b","after":["a"]}]})"), "f.toml");
    CHECK_THROWS_WITH(manifest.select(facts(0)), Catch::Contains("circle"));
    Manifest missing;
    missing.add(Json::parse(R"({"modules":[{"name":"a","requires":["kvs"]}]})"), "f.toml");
    CHECK_THROWS_WITH(missing.select(facts(0)), Catch::Contains("requires kvs"));
}
