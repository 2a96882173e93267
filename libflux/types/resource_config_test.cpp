#include <flux/resource_config.hpp>

#include <catch2/catch.hpp>

using namespace flux;

namespace {
ResourceSet parse(const char* text) { return parse_resource_config(Json::parse(text)); }
std::string with_prefix(const std::string& text) { return "error parsing [resource.config] array: " + text; }
} // namespace

TEST_CASE("resource config: entries accumulate", "[resource_config]") {
    auto R = parse(R"([{"hosts":"t[1-4]","cores":"0-3"},{"hosts":"t[1,2]","gpus":"0-1"},
                       {"hosts":"t[1-3]","properties":["batch"]},{"hosts":"t4","properties":["debug"]}])");
    CHECK(R.encode().equals(Json::parse(
        R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-3","gpu":"0-1"}},
            {"rank":"2-3","children":{"core":"0-3"}}],"starttime":0.0,"expiration":0.0,"nodelist":["t[1-4]"],
            "properties":{"batch":"0-2","debug":"3"}}})")));
    CHECK(parse(R"([{"hosts":"b,a","cores":"0"}])").host(0) == "b");
}

TEST_CASE("resource config: errors", "[resource_config]") {
    CHECK_THROWS_WITH(parse("{}"), with_prefix("resource config must be an array"));
    CHECK_THROWS_WITH(parse("[]"), with_prefix("no hosts configured"));
    CHECK_THROWS_WITH(parse(R"([{"cores":"0"}])"), with_prefix("config[0]: Object item not found: hosts"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a","cores":"0"},{"hosts":"b","x":1}])"),
                      with_prefix("config[1]: 1 object item(s) left unpacked: x"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a["}])"), with_prefix("config[0]: invalid hostlist 'a['"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":""}])"), with_prefix("config[0]: empty hostlist specified"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a","cores":"x"}])"), with_prefix("config[0]: invalid idset cores='x'"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a","gpus":"1-0"}])"), with_prefix("config[0]: invalid idset gpus='1-0'"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a","properties":"x"}])"),
                      with_prefix("config[0]: properties must be an array"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a","properties":["a^b"]}])"),
                      with_prefix("config[0]: invalid property \"a^b\""));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a","cores":"0"},{"hosts":"a","cores":"0-1"}])"),
                      with_prefix("Unable to add rnode: File exists"));
    CHECK_THROWS_WITH(parse(R"([{"hosts":"a1"}])"), with_prefix("resource.config: a1 assigned no resources"));
}

TEST_CASE("configured resources: path and scheduling", "[resource_config]") {
    CHECK_FALSE(configured_resources(Json::object()));
    CHECK_THROWS_WITH(configured_resources(Json::object("scheduling", "/nowhere")),
                      "resource.scheduling requires resource.path or [resource.config]");
    CHECK_THROWS_AS(configured_resources(Json::object("path", "/nowhere/R")), Error);
}
