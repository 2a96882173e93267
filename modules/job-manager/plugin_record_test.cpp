#include "plugin_record.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_manager;

TEST_CASE("plugin record: a plugin that came and went leaves nothing") {
    PluginRecord record;
    record.loaded("a.so", "/x/a.so", Json::object());
    record.loaded("b.so", "/x/b.so", Json::object("k", 1));
    record.removed("a.so");
    REQUIRE(record.loads().size() == 1);
    CHECK(record.loads()[0].name == "b.so");
    CHECK_FALSE(record.is_removed("a.so"));
}

TEST_CASE("plugin record: one of the configuration stays away, whatever takes its place") {
    PluginRecord record;
    record.removed("conf.so");
    record.loaded("conf.so", "/y/conf.so", Json::object());
    CHECK(record.is_removed("conf.so"));
    record.removed("conf.so");
    CHECK(record.loads().empty());
    CHECK(record.is_removed("conf.so"));
}

TEST_CASE("plugin record: survives a checkpoint") {
    PluginRecord record;
    record.removed(".begin-time");
    record.loaded("b.so", "/x/b.so", Json::object("k", 1));
    auto again = PluginRecord::decode(record.encode());
    CHECK(again.is_removed(".begin-time"));
    REQUIRE(again.loads().size() == 1);
    CHECK(again.loads()[0].file == "/x/b.so");
    CHECK(again.loads()[0].arguments.get<int>("k") == 1);
    CHECK(again.encode().dump() == record.encode().dump());
    CHECK(PluginRecord::decode(Json::parse(R"({"loaded":[1,{"name":"x"}],"removed":[{}]})")).loads().empty());
    CHECK(PluginRecord::decode(JsonView()).loads().empty());
}
