#include "broker/overlay/link/address.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::broker;
using Catch::Contains;

TEST_CASE("address: both schemes", "[link]") {
    auto ipc = Address::parse("ipc:///run/flux/tbon-0");
    CHECK(ipc.kind() == Address::Kind::ipc);
    CHECK(ipc.path() == "/run/flux/tbon-0");
    CHECK(ipc == Address::ipc("/run/flux/tbon-0"));

    auto tcp = Address::parse("tcp://node-7.example:8050");
    CHECK(tcp.kind() == Address::Kind::tcp);
    CHECK(tcp.host() == "node-7.example");
    CHECK(tcp.port() == 8050);

    auto six = Address::parse("tcp://[fe80::1%eth0]:65535");
    CHECK(six.host() == "fe80::1%eth0");
    CHECK(six.port() == 65535);

    CHECK(Address::parse("tcp://*:*") == Address::tcp("*", 0));
    CHECK(Address::parse("tcp://eth0:0") == Address::tcp("eth0", 0));
    for (auto uri : {"ipc:///run/flux/tbon-0", "tcp://node-7.example:8050", "tcp://[::1]:80", "tcp://10.0.0.1:0"})
        CHECK(Address::parse(uri).to_string() == uri);
}

TEST_CASE("address: what is refused says why", "[link]") {
    auto text_of = [](std::string_view uri) {
        try {
            Address::parse(uri);
        } catch (const Error& error) {
            CHECK(error.errnum() == EINVAL);
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    CHECK(text_of("node1:8050") == "invalid address 'node1:8050': it must begin with tcp:// or ipc://");
    CHECK_THAT(text_of(""), Contains("it must begin with"));
    CHECK_THAT(text_of("ipc://"), Contains("the path is missing"));
    CHECK_THAT(text_of("ipc://" + std::string(108, 'x')), Contains("longer than 107 bytes"));
    CHECK_THAT(text_of("tcp://node1"), Contains("the port is missing"));
    CHECK_THAT(text_of("tcp://[::1]"), Contains("the port is missing"));
    CHECK_THAT(text_of("tcp://:8050"), Contains("the host is missing"));
    CHECK_THAT(text_of("tcp://::1:8050"), Contains("needs brackets"));
    CHECK_THAT(text_of("tcp://[::1:8050"), Contains("']' is missing"));
    CHECK_THAT(text_of("tcp://[node1]:8050"), Contains("brackets are for IPv6"));
    CHECK_THAT(text_of("tcp://a b:8050"), Contains("foreign character"));
    CHECK_THAT(text_of("tcp://node1:65536"), Contains("no number from 0 to 65535"));
    CHECK_THAT(text_of("tcp://node1:-1"), Contains("no number from 0 to 65535"));
    CHECK_THAT(text_of("tcp://node1:"), Contains("no number from 0 to 65535"));
    CHECK_THAT(text_of("tcp://node1:80x"), Contains("no number from 0 to 65535"));
}
