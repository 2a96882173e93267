#include "service/options.hpp"

#include <catch2/catch.hpp>

using flux::sched_service::Options;

TEST_CASE("scheduler options", "[sched]") {
    CHECK(Options({}, "8").queue_depth == 8);
    CHECK_FALSE(Options({}, "unlimited").queue_depth);
    CHECK_FALSE(Options({"queue-depth=unlimited"}, "8").queue_depth);
    CHECK(Options({"mode=limited=3"}, "8").queue_depth == 3);
    CHECK_FALSE(Options({"mode=unlimited"}, "8").queue_depth);
    Options options({"log-level=debug", "test-hello-nopartial", "pool-class=Rv1Pool"}, "8");
    CHECK(options.log_level == flux::LogLevel::debug);
    CHECK(options.queue_depth_name() == "8");
    CHECK_FALSE(options.partial_ok);
    CHECK_THROWS_WITH(Options({"queue-depth=0"}, "8"),
                      "queue-depth='0' is invalid: expected a positive integer or 'unlimited'");
    CHECK_THROWS_WITH(Options({"mode=limited=x"}, "8"), "mode=limited= requires a positive integer, got 'x'");
    CHECK_THROWS_WITH(Options({"log-level=loud"}, "8"),
                      Catch::Contains("log-level='loud' is invalid: expected one of"));
    CHECK_THROWS_WITH(Options({"pool-class=Tree"}, "8"), "pool-class='Tree': could not load pool class");
    CHECK_THROWS_WITH(Options({"x"}, "8"),
                      "unknown argument 'x': built-in options are queue-depth, log-level, pool-class");
}
