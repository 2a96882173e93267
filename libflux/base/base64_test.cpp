#include <flux/base64.hpp>
#include <flux/error.hpp>

#include <catch2/catch.hpp>

using flux::base64_decode;
using flux::base64_encode;

TEST_CASE("base64: both ways", "[base64]") {
    const char* table[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    for (auto& row : table) {
        CHECK(base64_encode(row[0]) == row[1]);
        CHECK(base64_decode(row[1]) == row[0]);
    }
    std::string all;
    for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
    CHECK(base64_decode(base64_encode(all)) == all);
}

TEST_CASE("base64: refuses what it did not make", "[base64]") {
    for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Z g=", "Zm9v\n"}) {
        INFO(text);
        CHECK_THROWS_AS(base64_decode(text), flux::Error);
    }
}
