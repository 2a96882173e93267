#include "queues.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_manager;

namespace {

Json parse(const char* text) { return Json::parse(text); }
const char* const two_and_virtual = R"({"queues":{"batch":{"requires":["b"]},"debug":{},"fast":{"parent":"batch"}}})";

} // namespace

TEST_CASE("queues: the anonymous queue", "[job-manager]") {
    Queues queues;
    queues.configure(Json::object());
    CHECK_FALSE(queues.named());
    CHECK(queues.names().empty());
    CHECK(queues.started(""));
    CHECK(queues.status({}, true).dump() == R"({"enable":true,"start":true})");
    CHECK(queues.status({}, false).dump() ==
          R"({"enable":true,"start":false,"blocked":"scheduler","stop_reason":"Scheduler is offline"})");
    queues.check_submit("");
    CHECK_THROWS_WITH(queues.check_submit("x"), "'x' is not a valid queue");
    CHECK_THROWS_WITH(queues.status("closed", true), "'closed' is not a valid queue");

    queues.start(parse(R"({"start":false,"all":false,"nocheckpoint":false})"));
    CHECK_FALSE(queues.started(""));
    CHECK(queues.status({}, true).dump() == R"({"enable":true,"start":false})");
    queues.start(parse(R"({"start":false,"all":false,"reason":"why"})"));
    CHECK(queues.status({}, true).dump() == R"({"enable":true,"start":false,"stop_reason":"why"})");

    CHECK_THROWS_WITH(queues.enable(parse(R"({"enable":false,"all":false})")), "reason is required for disable");
    CHECK_THROWS_WITH(queues.enable(parse(R"({"enable":false,"all":false,"name":"closed","reason":"x"})")),
                      "'closed' is not a valid queue");
    queues.enable(parse(R"({"enable":false,"all":false,"reason":"maintenance"})"));
    CHECK_THROWS_WITH(queues.check_submit(""), "job submission is disabled: maintenance");
    CHECK(queues.save().dump() ==
          R"([{"enable":false,"start":false,"disable_reason":"maintenance","stop_reason":"why"}])");

    Queues restored;
    restored.restore(queues.save());
    CHECK(restored.status({}, true).equals(queues.status({}, true)));
    queues.enable(parse(R"({"enable":true,"all":true})"));
    queues.check_submit("");
}

TEST_CASE("queues: a stop may be forgotten", "[job-manager]") {
    Queues queues;
    queues.start(parse(R"({"start":false,"all":false,"nocheckpoint":true})"));
    CHECK_FALSE(queues.started(""));
    Queues restored;
    restored.restore(queues.save());
    CHECK(restored.started(""));
}

TEST_CASE("queues: named queues", "[job-manager]") {
    Queues queues;
    queues.configure(parse(two_and_virtual));
    CHECK(queues.named());
    CHECK(queues.names() == std::vector<std::string>{"batch", "debug", "fast"});
    CHECK_FALSE(queues.started("batch"));
    CHECK_THROWS_WITH(queues.status({}, true), "a named queue is required");
    CHECK_THROWS_WITH(queues.check_submit(""), "no queue specified");
    CHECK_THROWS_AS(queues.start(parse(R"({"start":true,"all":false})")), Error);
    queues.start(parse(R"({"start":true,"all":false,"name":"fast"})"));
    CHECK_FALSE(queues.started("fast"));
    CHECK(queues.status("fast", true).dump() == R"({"enable":true,"start":false,"parent":"batch","blocked":"parent",)"
                                                R"("stop_reason":"parent queue 'batch' is stopped"})");
    queues.start(parse(R"({"start":true,"all":true})"));
    CHECK(queues.started("fast"));
    queues.enable(parse(R"({"enable":false,"all":false,"name":"debug","reason":"no"})"));
    CHECK_THROWS_WITH(queues.check_submit("debug"), "job submission to debug is disabled: no");
    queues.check_submit("batch");

    // A new configuration keeps what stays.
    queues.configure(parse(R"({"queues":{"batch":{},"new":{}}})"));
    CHECK(queues.started("batch"));
    CHECK_FALSE(queues.started("new"));
    queues.stop_all("Automatically stopped due to restart");
    CHECK(queues.status("batch", true)["stop_reason"].as<std::string>() == "Automatically stopped due to restart");
}

TEST_CASE("queues: bad configurations are refused", "[job-manager]") {
    for (auto* config : {
             R"({"queues":{"a":7}})",
             R"({"queues":{"a":{"parent":"b"}}})",
             R"({"queues":{"a":{"parent":"b"},"b":{"parent":"c"},"c":{}}})",
             R"({"queues":{"a":{"parent":"b","requires":["x"]},"b":{}}})",
             R"({"policy":{"jobspec":{"defaults":{"system":{"queue":"b"}}}},"queues":{"a":{}}})",
         }) {
        Queues queues;
        CHECK_THROWS_AS(queues.configure(parse(config)), Error);
        CHECK(queues.started(""));
    }
}
