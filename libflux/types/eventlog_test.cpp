#include <flux/eventlog.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <ctime>

using flux::Error;
using flux::EventlogDecoder;
using flux::EventlogEntry;
using flux::Json;

TEST_CASE("eventlog: encode", "[eventlog]") {
    CHECK(EventlogEntry(1, "foo").encode() == "{\"timestamp\":1.0,\"name\":\"foo\"}\n");
    CHECK(EventlogEntry(1.5, "a\nb", Json::object("n", 1)).encode() ==
          "{\"timestamp\":1.5,\"name\":\"a\\nb\",\"context\":{\"n\":1}}\n");
    CHECK(EventlogEntry(1552593348.073045, "x", Json::object()).encode() ==
          "{\"timestamp\":1552593348.073045,\"name\":\"x\",\"context\":{}}\n");
    auto now = EventlogEntry("now").timestamp;
    CHECK(now > 1.6e9);
    CHECK(now <= static_cast<double>(std::time(nullptr) + 1));
    CHECK_THROWS_AS(EventlogEntry(-1, "x"), Error);
    CHECK_THROWS_AS(EventlogEntry(0, "x"), Error);
    CHECK_THROWS_AS(EventlogEntry(1, ""), Error);
    CHECK_THROWS_AS(EventlogEntry(1, "x", Json::array()), Error);
}

TEST_CASE("eventlog: decode one event", "[eventlog]") {
    auto entry =
        EventlogEntry::decode("{\"timestamp\":2,\"name\":\"a\",\"context\":{\"s\":\"x\\u0000y\"},\"more\":1}\n");
    CHECK(entry.timestamp == 2);
    CHECK(entry.name == "a");
    CHECK(entry.context.get<std::string>("s").size() == 3);
    CHECK(EventlogEntry::from_json(entry.to_json()).encode() == entry.copy().encode());
    CHECK(EventlogEntry::decode("{\"timestamp\":2.5,\"name\":\"a\"}\n").context.is_null());
}

TEST_CASE("eventlog: what is no event", "[eventlog]") {
    std::string line =
        GENERATE("", "\n", "{}\n", "{\"timestamp\":1,\"name\":\"a\"}", "{\"timestamp\":1,\"name\":\"a\"}\n\n",
                 "{\"timestamp\":1,\n\"name\":\"a\"}\n", "{\"timestamp\":\"1\",\"name\":\"a\"}\n", "{\"name\":\"a\"}\n",
                 "{\"timestamp\":1}\n", "{\"timestamp\":1,\"name\":1}\n", "{\"timestamp\":1,\"name\":\"\"}\n",
                 "{\"timestamp\":-1,\"name\":\"a\"}\n", "{\"timestamp\":1,\"name\":\"a\",\"context\":null}\n",
                 "{\"timestamp\":1,\"name\":\"a\",\"context\":[]}\n", "[1]\n", "{\"timestamp\":1\n");
    INFO(line);
    try {
        EventlogEntry::decode(line);
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.errnum() == EINVAL);
    }
}

TEST_CASE("eventlog: a whole log", "[eventlog]") {
    auto log = EventlogEntry(1, "a").encode() + EventlogEntry(2, "b").encode();
    CHECK(flux::decode_eventlog("").empty());
    CHECK(flux::decode_eventlog(log).size() == 2);
    CHECK(flux::decode_eventlog(log + "{\"times").size() == 2);
    CHECK_THROWS_AS(flux::decode_eventlog("{\"times"), Error);
    CHECK_THROWS_AS(flux::decode_eventlog(log + "\n"), Error);
    CHECK_THROWS_AS(flux::decode_eventlog(log + "x\n" + log), Error);
}

TEST_CASE("eventlog: in pieces", "[eventlog]") {
    std::string log;
    for (int i = 1; i <= 20; ++i) log += EventlogEntry(i, "e", Json::object("i", i)).encode();
    for (std::size_t size : {1u, 7u, 100u, 10000u}) {
        EventlogDecoder decoder;
        int count = 0;
        for (std::size_t at = 0; at < log.size(); at += size) {
            decoder.feed(std::string_view(log).substr(at, size));
            while (auto entry = decoder.next()) CHECK(entry->context.get<int>("i") == ++count);
        }
        CHECK(count == 20);
        CHECK(!decoder.has_partial_line());
        decoder.feed("{");
        CHECK(!decoder.next());
        CHECK(decoder.has_partial_line());
    }
    EventlogDecoder decoder;
    decoder.feed(std::string(EventlogDecoder::max_line, 'x'));
    CHECK_THROWS_AS(decoder.feed("x"), Error);
}
