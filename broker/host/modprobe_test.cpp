#include "broker/host/modprobe.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using namespace flux::broker;

namespace {

Modprobe::Facts facts(std::uint32_t rank) {
    Modprobe::Facts result;
    result.rank = rank;
    result.config_has = [](const std::string& key) { return key == "systemd.enable"; };
    result.attribute_set = [](const std::string&) { return false; };
    return result;
}

Modprobe example() {
    Modprobe modprobe;
    auto manifest = Json::parse(R"({"modules":[
        {"name":"b","after":["a"]}, {"name":"a"}, {"name":"zero","ranks":"0"}, {"name":"others","ranks":">0"},
        {"name":"x1","provides":["x"],"priority":50,"after":["b"]}, {"name":"x2","provides":["x"],"priority":40},
        {"name":"first","before":["a"]}, {"name":"sd","needs-config":["systemd.enable"]},
        {"name":"nosd","needs-config":["!systemd.enable"]}, {"name":"user","requires":["x"],"after":["x"]}]})");
    modprobe.add(manifest, "test");
    return modprobe;
}

} // namespace

TEST_CASE("modprobe: selection and order", "[modprobe]") {
    auto modprobe = example();
    modprobe.select(facts(0));
    CHECK(modprobe.order() == std::vector<std::string>{"first", "sd", "zero", "a", "b", "x1", "user"});
    auto other = example();
    auto chosen = facts(1);
    chosen.alternatives["x"] = "x2";
    other.select(chosen);
    CHECK(other.order() == std::vector<std::string>{"first", "others", "sd", "x2", "a", "b", "user"});
}

TEST_CASE("modprobe: cleanup commands of what is active, in order of loading", "[modprobe]") {
    Modprobe modprobe;
    modprobe.add(Json::parse(R"({"modules":[{"name":"b","after":["a"],"cleanup":["three"]},
        {"name":"a","cleanup":["one","two"]}, {"name":"c","ranks":">0","cleanup":["never"]}]})"),
                 "test");
    modprobe.select(facts(0));
    CHECK(modprobe.cleanup_commands() == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("modprobe: what is refused", "[modprobe]") {
    Modprobe modprobe;
    CHECK_THROWS_WITH(modprobe.add(Json::parse(R"({"modules":[{"name":"a","wrong":1}]})"), "f.toml"),
                      "f.toml: module a: wrong: unknown key");
    CHECK_THROWS_AS(modprobe.add(Json::parse(R"({"nobody":{"args":[]}})"), "f.toml"), Error);
    modprobe.add(Json::parse(R"({"modules":[{"name":"a","after":["b"]},{"name":"b","after":["a"]}]})"), "f.toml");
    CHECK_THROWS_WITH(modprobe.select(facts(0)), Catch::Contains("circle"));
    Modprobe missing;
    missing.add(Json::parse(R"({"modules":[{"name":"a","requires":["kvs"]}]})"), "f.toml");
    CHECK_THROWS_WITH(missing.select(facts(0)), Catch::Contains("requires kvs"));
}
