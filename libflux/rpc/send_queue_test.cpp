#include "libflux/rpc/send_queue.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace flux;

TEST_CASE("send queue: the bytes are those of the frames, however they are taken", "[transport]") {
    const std::size_t step = GENERATE(1, 1000, 65536, 1 << 20);
    std::string expected;
    SendQueue queue;
    std::size_t added = 0;
    for (std::size_t size : {0, 10, 32 * 1024 - 1, 32 * 1024, 300'000, 5, 100'000, 100'000, 20, 250'000, 7}) {
        auto message = Message::request("a.topic");
        message.push_route("somebody");
        if (size > 0) message.payload = Payload::from_bytes(std::string(size, static_cast<char>('a' + size % 26)));
        encode_frame(message, expected);
        added += queue.add(message);
    }
    CHECK(queue.size() == expected.size());
    CHECK(added == expected.size());
    std::string taken;
    while (!queue.empty()) {
        auto part = queue.front().substr(0, step);
        REQUIRE_FALSE(part.empty());
        taken.append(part);
        queue.remove(part.size());
    }
    CHECK((taken == expected));

    auto last = Message::event("last");
    expected.clear();
    encode_frame(last, expected);
    queue.add(last);
    CHECK(queue.front() == expected);
}
