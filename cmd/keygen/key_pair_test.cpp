#include "cmd/keygen/key_pair.hpp"

#include <catch2/catch.hpp>

using namespace flux::keygen;

TEST_CASE("Z85") {
    CHECK(z85_encode("\x86\x4F\xD2\x6F\xB5\x59\xF7\x5B") == "HelloWorld"); // the example of ZeroMQ RFC 32
    CHECK(z85_encode("").empty());
}

TEST_CASE("key pairs") {
    auto a = KeyPair::generate(), b = KeyPair::generate();
    CHECK(z85_encode(a.public_key).size() == 40);
    CHECK(a.public_key != b.public_key);
    CHECK(a.public_key != a.secret_key);
}
