#include <flux/fluid.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Error;
using flux::FluidGenerator;
using flux::JobId;
using namespace std::chrono_literals;

TEST_CASE("fluid: ids hold time, generator and sequence", "[fluid]") {
    FluidGenerator::TimePoint start(1h);
    FluidGenerator fluid(5, 1000, start);
    auto id = fluid.next(start);
    CHECK(id.timestamp() == 1000);
    CHECK(id.generator() == 5);
    CHECK(id.sequence() == 0);
    CHECK(fluid.next(start + 500us).sequence() == 1);
    id = fluid.next(start + 7ms);
    CHECK(id.timestamp() == 1007);
    CHECK(id.sequence() == 0);
    CHECK(fluid.timestamp(start + 9ms) == 1009);
}

TEST_CASE("fluid: ids rise, whatever the clock does", "[fluid]") {
    FluidGenerator::TimePoint start(1h);
    FluidGenerator fluid(0, 0, start);
    auto last = fluid.next(start + 3ms);
    bool rising = true;
    for (int i = 0; i < 5000; ++i) {
        auto id = fluid.next(start + 3ms - std::chrono::milliseconds(i));
        rising = rising && id > last;
        last = id;
    }
    CHECK(rising);
    CHECK(last.timestamp() == 3 + 5000 / 1024);
    CHECK(fluid.timestamp(start) == last.timestamp());
}

TEST_CASE("fluid: limits", "[fluid]") {
    FluidGenerator::TimePoint start(1h);
    CHECK_NOTHROW(FluidGenerator(16383, 0, start));
    CHECK_THROWS_AS(FluidGenerator(16384, 0, start), Error);
    FluidGenerator fluid(0, (1ull << 40) - 1, start);
    CHECK_NOTHROW(fluid.next(start));
    CHECK_THROWS_AS(fluid.next(start + 1ms), Error);
}
