#include <flux/resource_count.hpp>

#include <catch2/catch.hpp>

using flux::Error;
using flux::Json;
using flux::ResourceCount;

namespace {
std::string again(std::string_view text) { return ResourceCount::parse(text).encode(); }
} // namespace

TEST_CASE("resource count: strings", "[count]") {
    CHECK(again("4") == "4");
    CHECK(again("[2-5]") == "2-5");
    CHECK(again("2,4,8-10") == "2,4,8-10");
    CHECK(again("1-5:2:+") == "1-5:2");
    CHECK(again("1-4:1:+") == "1-4");
    CHECK(again("2-8:2:*") == "2-8:2:*");
    CHECK(again("[2-256:2:^]") == "2-256:2:^");
    CHECK(again("3+") == "3+");
    CHECK(again("2+:2:*") == "2+:2:*");
    CHECK(again(R"({"min":1,"max":3})") == "1-3");
    for (auto bad : {"", "0", "01", "-1", "0-3", "3-2", "1-4:1:*", "1-4:2:^", "1-4:2:/", "1-4:", "a", "0,2", "2-4:0"})
        CHECK_THROWS_AS(ResourceCount::parse(bad), Error);
}

TEST_CASE("resource count: JSON", "[count]") {
    auto decode = [](const char* text) { return ResourceCount::decode(Json::parse(text)); };
    CHECK(decode("3") == ResourceCount(3));
    CHECK(decode(R"({"min":2})").encode() == "2+");
    CHECK(decode(R"({"min":2,"max":8,"operator":"*","operand":2})").encode() == "2-8:2:*");
    CHECK(decode(R"("2,4")").encode() == "2,4");
    CHECK_THROWS_WITH(decode("0"), "RFC 14 count: integer count must be >= 1, got 0");
    CHECK_THROWS_WITH(decode("-3"), "RFC 14 count: integer count must be >= 1, got -3");
    CHECK_THROWS_AS(decode("1.5"), Error);
    CHECK_THROWS_AS(decode(R"({"max":2})"), Error);
    CHECK_THROWS_AS(decode(R"({"min":1,"operand":2})"), Error);
}

TEST_CASE("resource count: what is acceptable", "[count]") {
    auto stepped = ResourceCount::parse("2-9:3");
    CHECK(stepped.test(5));
    CHECK(!stepped.test(6));
    CHECK(!stepped.is_contiguous());
    auto powers = ResourceCount::parse("2-256:2:^");
    CHECK(powers.test(16));
    CHECK(powers.test(256));
    CHECK(!powers.test(8));
    CHECK(!ResourceCount::parse("2+:1000:^").test(4000000000u));
    CHECK(ResourceCount::parse("2+").is_contiguous());
    CHECK(!ResourceCount::parse("2+").is_bounded());
    CHECK(!ResourceCount::parse("2,4").test(3));
    CHECK(ResourceCount::parse("2-4").is_contiguous());
}
