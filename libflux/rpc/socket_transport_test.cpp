#include "libflux/rpc/byte_stream.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

using namespace flux;

TEST_CASE("socket transport: all is heard that a peer said before it went away", "[transport]") {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    constexpr std::size_t count = 3;
    const std::string payload(ByteStream::read_size - 1000, 'x');
    std::string frames;
    for (std::size_t i = 0; i < count; ++i) {
        auto message = Message::request("last.words");
        message.payload = Payload::from_bytes(payload);
        encode_frame(message, frames);
    }
    REQUIRE(::send(fds[1], frames.data(), frames.size(), MSG_DONTWAIT) == static_cast<ssize_t>(frames.size()));
    // What is left unread makes a reset of the end.
    REQUIRE(::send(fds[0], "unread", 6, MSG_DONTWAIT) == 6);
    ::close(fds[1]);

    Loop loop;
    SocketTransport transport(loop, fds[0]);
    std::size_t heard = 0;
    int end = 0;
    transport.start([&](Message message) { heard += message.payload.bytes() == payload; },
                    [&](const Error& error) {
                        end = error.errnum();
                        loop.stop();
                    });
    loop.run();
    CHECK(heard == count);
    CHECK(end == ECONNRESET);
}
