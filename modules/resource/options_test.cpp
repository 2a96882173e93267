#include "options.hpp"

#include <catch2/catch.hpp>

#include <cmath>

using namespace flux;
using flux::resource::Options;

namespace {
Options parse(const char* text) { return Options(Json::parse(text)); }
} // namespace

TEST_CASE("resource options", "[resource]") {
    auto options = parse("{}");
    CHECK(options.journal_max == 100000);
    CHECK(options.history == 90 * 86400.0);
    CHECK_FALSE(options.verify_given);
    CHECK(options.online_group == "broker.online");
    options = parse(R"({"resource":{"exclude":"0","noverify":true,"history":"inf","journal-max":5,"verify":true},
                        "systemd":{"enable":true},"bootstrap":{}})");
    CHECK(options.exclude == "0");
    CHECK(options.noverify);
    CHECK(std::isinf(options.history));
    CHECK(options.journal_max == 5);
    CHECK(options.verify_given);
    CHECK(options.bootstrap);
    CHECK(options.online_group == "sdmon.online");
    options.add_arguments({"monitor-force-up", "notruncate"});
    CHECK(options.monitor_force_up);
    CHECK(options.notruncate);
    CHECK_THROWS_WITH(options.add_arguments({"x"}), "unknown option: x");
    CHECK_THROWS_WITH(parse(R"({"resource":{"a":1,"b":2}})"),
                      "error parsing [resource] configuration: 2 object item(s) left unpacked: a, b");
    CHECK_THROWS_WITH(parse(R"({"resource":{"history":"x"}})"), Catch::Contains("invalid history time"));
    CHECK_THROWS_AS(parse(R"({"resource":{"path":1}})"), Error);
}
