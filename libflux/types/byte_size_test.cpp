#include <flux/byte_size.hpp>
#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;

TEST_CASE("byte size: both ways", "[size]") {
    struct Case {
        const char* text;
        std::uint64_t bytes;
        const char* formatted;
    };
    const Case cases[] = {{"0", 0, "0"},
                          {"100", 100, "100"},
                          {"1k", 1024, "1K"},
                          {"10M", 10 << 20, "10M"},
                          {"1.5G", 3ull << 29, "1.5G"},
                          {"2T", 2ull << 40, "2T"},
                          {"1025", 1025, "1.00098K"}};
    for (const auto& c : cases) {
        CHECK(parse_byte_size(c.text) == c.bytes);
        CHECK(format_byte_size(c.bytes) == c.formatted);
    }
}

TEST_CASE("byte size: what is refused", "[size]") {
    for (const char* text : {"", "k", "-1", "1x", "1KB", "1 K", "nan", "inf", "8E", "1e3"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_byte_size(text), Error);
    }
}
