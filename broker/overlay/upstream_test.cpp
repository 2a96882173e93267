#include "broker/overlay/upstream.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::broker;

namespace {

Task<std::unique_ptr<Transport>> ready(std::unique_ptr<Transport> transport) { co_return transport; }

// A broker's way up over a channel, and its parent at the other end, which answers hello and notes the rest.
class Session {
public:
    Session() {
        parent_.start([this](Message message) { take(std::move(message)); }, {});
        Upstream::Environment environment;
        environment.parent = 0;
        environment.hold_timeout.reset();
        environment.hold_limit = 1 << 20;
        environment.connect = [this] {
            return ready(std::make_unique<ChannelTransport>(loop_, channel_, Channel::Side::module));
        };
        environment.make_link = [](std::unique_ptr<Transport> transport) {
            return std::make_unique<Link>(1, Link::Kind::parent, std::move(transport), [](Message) {});
        };
        environment.hello = [] { return Json::object(); };
        environment.on_joined = [this](Link& link, JsonView) { router_.add(link); };
        environment.on_message = [this](Link&, Message message) { received.push_back(message.topic); };
        environment.on_link_lost = [](Link&) {};
        environment.on_path = [] {};
        environment.on_ended = [](const Error&, bool) {};
        environment.log = [](LogLevel, const std::string&) {};
        upstream.emplace(loop_, router_, scope_, std::move(environment));
        scope_.spawn("join", &Session::join, this);
        settle();
    }

    void send_up(Message message) {
        upstream->endpoint()->deliver(std::move(message));
        settle();
    }
    void settle() {
        Timer end(loop_, [this] { loop_.stop(); });
        end.start(std::chrono::milliseconds(1));
        loop_.run();
    }

    std::vector<std::string> arrived;  // topics, at the parent
    std::vector<std::string> received; // from it
    bool joined = false;

private:
    static Task<> join(Session* self) {
        co_await self->upstream->join();
        self->joined = true;
    }
    void take(Message message) {
        if (message.topic != "overlay.hello") return arrived.push_back(message.topic);
        auto answer = Message::response(message);
        answer.payload = Payload::from_json(Json::object("uuid", "parent", "hostname", "node0"));
        parent_.send(std::move(answer));
        parent_.send(Message::event("follows"));
    }

    Loop loop_;
    Router router_;
    Scope scope_{loop_};
    std::shared_ptr<Channel> channel_ = std::make_shared<Channel>();
    ChannelTransport parent_{loop_, channel_, Channel::Side::broker};

public:
    std::optional<Upstream> upstream;
};

Message request(std::string_view topic) {
    auto message = Message::request(topic);
    message.push_route("client");
    message.aux2 = 1;
    return message;
}

using Topics = std::vector<std::string>;

} // namespace

TEST_CASE("upstream: what follows the answer to hello at once is not lost", "[overlay]") {
    Session session;
    REQUIRE(session.joined);
    CHECK(session.received == Topics{"follows"});
}

TEST_CASE("upstream: requests wait while the parent does not serve, answers and early services do not", "[overlay]") {
    Session session;
    REQUIRE(session.joined);
    session.upstream->pause("node0 is being restarted");
    CHECK(session.upstream->path().held);
    session.send_up(request("kvs.commit"));
    session.send_up(Message::response(request("rexec.exec")));
    session.send_up(request("groups.get"));
    CHECK(session.arrived == Topics{"rexec.exec", "groups.get"});
    CHECK(session.upstream->held_count() == 1);

    session.upstream->open();
    session.settle();
    CHECK(session.arrived == Topics{"rexec.exec", "groups.get", "kvs.commit"});
    CHECK_FALSE(session.upstream->path().held);
}
