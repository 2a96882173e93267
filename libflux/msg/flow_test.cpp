#include <flux/flow.hpp>
#include <flux/message.hpp>

#include <catch2/catch.hpp>

#include <optional>

using namespace flux;

TEST_CASE("flow: full above the limit, room again at half of it") {
    int told = 0;
    Flow flow(100, [&] { ++told; });
    CHECK(!flow.full());
    CHECK(!flow.wait());
    std::optional<Charge> first(flow.charge(60)), second(flow.charge(60));
    CHECK(flow.full());
    CHECK(flow.wait());
    first.reset();
    CHECK(told == 0); // 60 are more than half
    second.reset();
    CHECK(told == 1);
    CHECK(!flow.full());
    first = flow.charge(200);
    first.reset();
    CHECK(told == 1); // nobody has waited again
}

TEST_CASE("flow: a charge ends with the last copy of its message") {
    Flow flow(1, [] {});
    auto message = Message::event("x");
    message.charge = flow.charge(2);
    auto copy = message;
    message = Message();
    CHECK(flow.full());
    copy = Message();
    CHECK(!flow.full());
}
