#include <flux/running_stats.hpp>

#include <catch2/catch.hpp>

TEST_CASE("running stats", "[types]") {
    flux::RunningStats stats;
    CHECK(stats.to_json().dump() == R"({"count":0,"min":0.0,"max":0.0,"mean":0.0,"stddev":0.0})");
    stats.add(2);
    CHECK(stats.stddev() == 0);
    for (double value : {4, 4, 4, 5, 5, 7, 9}) stats.add(value);
    CHECK(stats.count() == 8);
    CHECK(stats.min() == 2);
    CHECK(stats.max() == 9);
    CHECK(stats.mean() == Approx(5));
    CHECK(stats.stddev() == Approx(std::sqrt(32.0 / 7)));
}
