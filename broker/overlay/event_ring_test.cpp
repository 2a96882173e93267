#include "broker/overlay/event_ring.hpp"

#include <catch2/catch.hpp>

#include <vector>

using flux::Message;
using flux::broker::EventRing;

namespace {

Message event(std::uint32_t sequence) {
    auto message = Message::event("a");
    message.aux1 = sequence;
    return message;
}

std::vector<std::uint32_t> after(const EventRing& ring, std::uint32_t sequence) {
    std::vector<std::uint32_t> found;
    ring.for_each_after(sequence, [&](const Message& message) { found.push_back(message.sequence()); });
    return found;
}

} // namespace

TEST_CASE("event ring: what was missed", "[overlay]") {
    EventRing ring;
    CHECK(ring.covers(5, 5));
    CHECK(!ring.covers(4, 5));
    for (std::uint32_t sequence = 3; sequence <= 6; ++sequence) ring.add(event(sequence));
    CHECK(ring.covers(2, 6));
    CHECK(ring.covers(4, 6));
    CHECK(!ring.covers(1, 6));
    CHECK(!ring.covers(4, 7)); // one was never seen here
    CHECK(after(ring, 4) == std::vector<std::uint32_t>{5, 6});
}

TEST_CASE("event ring: a gap starts it anew, and it has bounds", "[overlay]") {
    EventRing ring;
    ring.add(event(1));
    ring.add(event(3));
    CHECK(!ring.covers(1, 3));
    CHECK(ring.covers(2, 3));
    for (std::uint32_t sequence = 4; sequence < 4 + EventRing::max_count; ++sequence) ring.add(event(sequence));
    CHECK(after(ring, 0).size() == EventRing::max_count);
    auto large = event(4 + EventRing::max_count);
    large.payload = flux::Payload::from_bytes(std::string(EventRing::max_bytes + 1, 'x'));
    ring.add(large);
    CHECK(after(ring, 0).empty());
}
