#include "broker/overlay/held_messages.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Json;
using flux::Message;
using flux::Payload;
using flux::broker::HeldMessages;

namespace {

class Held {
public:
    explicit Held(std::size_t limit = 1 << 20)
        : messages(limit, [this](const Message& request, int errnum, const std::string&) {
              failed.emplace_back(request.topic, errnum);
          }) {}
    std::vector<std::string> topics() {
        std::vector<std::string> all;
        for (const auto& message : messages.take_all()) all.push_back(message.topic);
        return all;
    }
    std::vector<std::pair<std::string, int>> failed;
    HeldMessages messages;
};

Message request(std::string_view topic, std::string_view sender, std::uint32_t matchtag) {
    auto message = Message::request(topic);
    message.push_route(sender);
    message.aux2 = matchtag;
    if (matchtag == flux::matchtag_none) message.set(flux::flag_noresponse);
    return message;
}

using Topics = std::vector<std::string>;
using Failures = std::vector<std::pair<std::string, int>>;

} // namespace

TEST_CASE("held messages: order, and what was under way first", "[overlay]") {
    Held held;
    held.messages.add(request("c", "x", 3));
    held.messages.add(Message::event("d"));
    held.messages.put_back({request("a", "x", 1), request("b", "y", 1)});
    CHECK(held.messages.count() == 4);
    CHECK(held.topics() == Topics{"a", "b", "c", "d"});
    CHECK(held.messages.bytes() == 0);
}

TEST_CASE("held messages: a requester that goes takes its requests along", "[overlay]") {
    Held held;
    held.messages.add(request("kvs.commit", "x", 1));
    held.messages.add(request("kvs.commit", "y", 1));
    held.messages.add(request("kvs.disconnect", "x", flux::matchtag_none));
    CHECK(held.messages.count() == 1);
    CHECK(held.failed.empty());
    CHECK(held.messages.take_all().at(0).sender() == "y");
}

TEST_CASE("held messages: a cancelled request is answered", "[overlay]") {
    Held held;
    held.messages.add(request("a.watch", "x", 1));
    held.messages.add(request("a.watch", "x", 2));
    auto cancel = request("a.cancel", "x", flux::matchtag_none);
    cancel.payload = Payload::from_json(Json::object("matchtag", 2));
    held.messages.add(cancel);
    CHECK(held.failed == Failures{{"a.watch", ENODATA}});
    CHECK(held.messages.count() == 1);
    // What cancels nothing here goes up.
    held.messages.add(cancel);
    CHECK(held.messages.count() == 2);
}

TEST_CASE("held messages: what is not held", "[overlay]") {
    Held held;
    held.messages.add(Message::response(request("a", "x", 1)));
    held.messages.add(Message::control(1, 2));
    held.messages.add(request("log.append", "x", flux::matchtag_none));
    auto untagged = Message::request("sched.alloc");
    held.messages.add(untagged);
    CHECK(held.messages.count() == 0);
    CHECK(held.failed.empty());
}

TEST_CASE("held messages: above the limit", "[overlay]") {
    Held held(1000);
    auto large = request("kvs.commit", "x", 1);
    large.payload = Payload::from_bytes(std::string(1000, 'x'));
    held.messages.add(large);
    held.messages.add(request("small", "x", 2));
    CHECK(held.failed == Failures{{"kvs.commit", EAGAIN}});
    CHECK(held.messages.count() == 1);
    held.messages.fail_all(EHOSTUNREACH, "gone");
    CHECK(held.failed.back() == std::pair<std::string, int>{"small", EHOSTUNREACH});
}
