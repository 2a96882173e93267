#include <flux/message.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;

namespace {

Message round_trip(const Message& message) {
    std::string bytes;
    encode_frame(message, bytes);
    FrameDecoder decoder;
    std::optional<Message> result;
    for (char c : bytes) { // one byte at a time: partial input must never confuse it
        REQUIRE(!result);
        decoder.feed(std::string_view(&c, 1));
        result = decoder.next();
    }
    REQUIRE(result);
    CHECK(decoder.pending() == 0);
    return std::move(*result);
}

} // namespace

TEST_CASE("message: requests survive the wire", "[message]") {
    auto request = Message::request("kvs.lookup");
    request.aux2 = 7;
    request.set(flag_streaming);
    request.credentials = {100, role_owner | role_local};
    request.push_route("client");
    request.push_route("connector");
    request.payload = Payload::from_json(Json::object("key", "a"));
    auto copy = round_trip(request);
    CHECK(copy.topic == "kvs.lookup");
    CHECK(copy.matchtag() == 7);
    CHECK(copy.nodeid() == nodeid_any);
    CHECK(copy.credentials == request.credentials);
    CHECK(copy.streaming());
    CHECK(copy.routes.top() == "connector");
    CHECK(copy.sender() == "client");
    CHECK(copy.routes.describe() == "client!connecto");
    CHECK(copy.json().get<std::string>("key") == "a");
    CHECK(copy.payload.bytes() == std::string_view("{\"key\":\"a\"}\0", 12));
    CHECK(copy.service() == "kvs");
    CHECK(copy.method() == "lookup");
    copy.routes.pop();
    CHECK(copy.routes.top() == "client");
    copy.routes.pop();
    CHECK(copy.routes.empty());
}

TEST_CASE("message: a response carries the request's way back", "[message]") {
    auto request = Message::request("a.b");
    request.aux2 = 9;
    request.push_route("x");
    auto failed = round_trip(Message::response_error(request, ENOENT, "no such key"));
    CHECK(failed.errnum() == ENOENT);
    CHECK(failed.error_text() == "no such key");
    CHECK(failed.matchtag() == 9);
    CHECK(failed.sender() == "x");
    CHECK_THROWS_WITH(failed.throw_if_failed(), "no such key");
    CHECK(Message::response_error(request, EPERM).error_text() == "Operation not permitted");
    CHECK(!round_trip(Message::response(request)).payload);
}

TEST_CASE("message: events and control", "[message]") {
    auto event = Message::event("heartbeat.pulse");
    event.aux1 = 12;
    CHECK(round_trip(event).sequence() == 12);
    auto control = round_trip(Message::control(1, 3));
    CHECK(control.type == MessageType::control);
    CHECK(control.aux1 == 1);
    CHECK(control.aux2 == 3);
    auto large = Message::event("big");
    large.payload = Payload::from_bytes(std::string(300000, 'x'));
    CHECK(round_trip(large).payload.bytes().size() == 300000);
}

TEST_CASE("message: malformed input is refused", "[message]") {
    auto body = encode_body(Message::request("a.b"));
    auto broken = [&](auto&& change) {
        auto copy = body;
        change(copy);
        CHECK_THROWS_AS(decode_body(copy), Error);
    };
    broken([](std::string& b) { b.clear(); });
    broken([](std::string& b) { b.pop_back(); });
    broken([](std::string& b) { b[b.size() - 20] = 0; });          // magic
    broken([](std::string& b) { b[b.size() - 19] = 9; });          // version
    broken([](std::string& b) { b[b.size() - 18] = 3; });          // type
    broken([](std::string& b) { b[b.size() - 17] |= 0x44; });      // noresponse and streaming
    broken([](std::string& b) { b[b.size() - 17] |= 0x02; });      // announces a payload
    broken([](std::string& b) { b[0] = static_cast<char>(200); }); // part longer than the body
    broken([](std::string& b) { b.insert(0, std::string("\xff\xff\xff\xff\xff", 5)); });
    auto routed = Message::request("a.b");
    routed.push_route(std::string_view("x\0y", 3));
    CHECK_THROWS_WITH(decode_body(encode_body(routed)), Catch::Contains("NUL"));
    routed.routes = {};
    routed.push_route(std::string_view("\0", 1)); // would be read as the end of the route by the next hop
    CHECK_THROWS_WITH(decode_body(encode_body(routed)), Catch::Contains("empty id"));
    CHECK_THROWS_WITH(decode_body(encode_body(Message::request(std::string_view("a\0\0", 3)))), Catch::Contains("NUL"));
    FrameDecoder decoder;
    decoder.feed("nonsense");
    CHECK_THROWS_AS(decoder.next(), Error);
    FrameDecoder huge;
    huge.feed(std::string("\x12\x00\xee\xff\xff\xff\xff\xff", 8));
    CHECK_THROWS_AS(huge.next(), Error);
}

TEST_CASE("message: payload forms", "[message]") {
    CHECK_THROWS_AS(Payload::from_bytes("raw").text(), Error);
    CHECK_THROWS_AS(Payload::from_text("[1]").json(), Error);
    CHECK_THROWS_AS(Payload::from_text("{").json(), Error);
    CHECK(!Payload::from_bytes(""));
    auto payload = Payload::from_json(Json::object("k", 1));
    auto copy = payload;
    CHECK(copy.json().raw() == payload.json().raw());
}
