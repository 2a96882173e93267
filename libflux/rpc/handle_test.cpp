#include <flux/handle.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <sys/socket.h>

using namespace flux;
using namespace std::chrono_literals;

namespace {

// Gives what arrives the credentials of a guest, as a broker would.
class Stamp final : public Transport {
public:
    explicit Stamp(std::unique_ptr<Transport> below) : below_(std::move(below)) {}
    void start(OnMessage on_message, OnClosed on_closed) override {
        below_->start(
            [on_message = std::move(on_message)](Message message) {
                message.credentials = {1000, role_user};
                on_message(std::move(message));
            },
            std::move(on_closed));
    }
    void send(Message message) override { below_->send(std::move(message)); }
    std::size_t backlog() const noexcept override { return below_->backlog(); }

private:
    std::unique_ptr<Transport> below_;
};

// Two handles joined by a socketpair: what one asks the other serves.
struct Pair {
    Loop loop;
    Scope scope{loop};
    std::unique_ptr<Handle> client;
    std::unique_ptr<Handle> server;
    Pair() {
        int fds[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        client = std::make_unique<Handle>(loop, std::make_unique<SocketTransport>(loop, fds[0]));
        server =
            std::make_unique<Handle>(loop, std::make_unique<Stamp>(std::make_unique<SocketTransport>(loop, fds[1])));
    }
};

Method any(std::string_view topic) { return Method(topic, MethodClass::read, role_all); }

Task<int> ask(Handle* handle, std::string topic, int value) {
    auto payload = Json::object("value", value);
    auto reply = co_await handle->call(topic, std::move(payload));
    co_return reply.json().get<int>("value");
}

Task<> slow_double(Request request) {
    co_await sleep_for(1ms);
    request.respond(Json::object("value", 2 * request.json().get<int>("value")));
}

Task<int> count_stream(Handle* handle) {
    auto stream = handle->stream("s.count");
    int sum = 0;
    while (auto message = co_await stream.next()) sum += message->json().get<int>("n");
    co_return sum;
}

Task<int> two_at_once(Handle* handle) {
    auto a = handle->call("s.double", Json::object("value", 1));
    auto b = handle->call("s.double", Json::object("value", 2));
    auto first = co_await a;
    auto second = co_await b;
    co_return first.json().get<int>("value") + second.json().get<int>("value");
}

Task<int> with_deadline(Handle* handle) {
    co_await handle->call("s.never", CallOptions().deadline(5ms));
    co_return 0;
}

} // namespace

TEST_CASE("handle: calls, tasks, streams, errors", "[rpc]") {
    Pair pair;
    std::vector<Request> kept;
    pair.server->serve(Method("s.double", MethodClass::read, role_all), pair.scope, &slow_double);
    pair.server->serve(any("s.echo"), [](Request request) { request.respond(request.json().copy()); });
    pair.server->serve(any("s.fail"), [](Request) { throw Error(EBUSY, "busy now"); });
    pair.server->serve(any("s.drop"), [](Request) {});
    pair.server->serve(any("s.never"), [&](Request request) { kept.push_back(std::move(request)); });
    pair.server->serve(Method("s.owner", MethodClass::read), [](Request request) { request.respond(); });
    pair.server->serve(any("s.count"), [](Request request) {
        request.require_streaming();
        for (int i = 1; i <= 4; ++i) request.respond(Json::object("n", i));
        request.end();
    });
    CHECK(run_task<int>(pair.scope, &ask, pair.client.get(), std::string("s.echo"), 3) == 3);
    CHECK(run_task<int>(pair.scope, &ask, pair.client.get(), std::string("s.double"), 3) == 6);
    CHECK(run_task<int>(pair.scope, &two_at_once, pair.client.get()) == 6);
    CHECK(run_task<int>(pair.scope, &count_stream, pair.client.get()) == 10);
    auto failure = [&](const char* topic) {
        try {
            run_task<int>(pair.scope, &ask, pair.client.get(), std::string(topic), 1);
        } catch (const Error& error) {
            return error.errnum();
        }
        return 0;
    };
    CHECK(failure("s.fail") == EBUSY);
    CHECK(failure("s.drop") == EIO);
    CHECK(failure("s.unknown") == ENOSYS);
    CHECK(failure("s.owner") == EPERM);
    CHECK(failure("s.count") == EPROTO);
    CHECK_THROWS_WITH(run_task<int>(pair.scope, &with_deadline, pair.client.get()), Catch::Contains("s.never"));
    kept.clear();
}

TEST_CASE("handle: requests without matchtag are answered any number of times", "[rpc]") {
    Pair pair;
    Request first;
    pair.server->serve(any("s.start"), [&](Request request) {
        auto id = request.json().get<int>("id");
        request.respond(Json::object("id", id, "n", 1));
        if (id == 1) first = request;
        if (id == 2) {
            first.respond(Json::object("id", 1, "n", 2));
            first.fail(EBUSY, "no more");
        }
    });
    std::vector<std::string> seen;
    pair.client->on_untagged("s.start", [&](const Message& message) {
        seen.push_back(message.errnum() ? message.error_text() : message.json().dump());
        if (message.errnum()) pair.loop.stop();
    });
    pair.client->send_untagged("s.start", Json::object("id", 1));
    pair.client->send_untagged("s.start", Json::object("id", 2));
    pair.loop.run();
    CHECK(seen == std::vector<std::string>{R"({"id":1,"n":1})", R"({"id":2,"n":1})", R"({"id":1,"n":2})", "no more"});
}

TEST_CASE("handle: a lost connection fails what is under way", "[rpc]") {
    Pair pair;
    std::vector<Request> kept;
    pair.server->serve(any("s.never"), [&](Request request) { kept.push_back(std::move(request)); });
    auto call = pair.client->call("s.never");
    int errnum = 0;
    std::move(call).then([&](Message message) {
        errnum = message.errnum();
        pair.loop.stop();
    });
    Timer kill(pair.loop, [&] { pair.server.reset(); });
    kill.start(1ms);
    pair.loop.run();
    CHECK(errnum == ECONNRESET);
    errnum = 0;
    pair.client->call("s.never").then([&](Message message) { errnum = message.errnum(); });
    pair.loop.run_ready();
    CHECK(errnum == ECONNRESET);
    kept.clear(); // after its handle
}

TEST_CASE("handle: an event that its receiver cannot read is logged, and ends nothing", "[rpc]") {
    Pair pair;
    std::string log;
    int seen = 0;
    pair.server->serve(any("event.subscribe"), [](Request request) { request.respond(); });
    pair.server->serve(any("log.append"), [&](Request request) {
        log = request.message().payload.bytes();
        pair.loop.stop();
    });
    auto read = [](const Message& event) { event.json().get<int>("n"); };
    auto count = [&](const Message&) { ++seen; };
    pair.client->subscribe("e.", read).then([](const Message&) {});
    pair.client->subscribe("e.", count).then([](const Message&) {});
    auto event = Message::event("e.x");
    event.credentials = {1000, role_owner};
    event.payload = Payload::from_bytes("no JSON");
    pair.server->send(std::move(event));
    pair.loop.run();
    CHECK(seen == 1);
    CHECK_THAT(log, Catch::Contains("event e.x: payload is not a NUL-terminated string, ignoring"));
}

TEST_CASE("handle: a dropped stream is cancelled", "[rpc]") {
    Pair pair;
    RequestList<int> open;
    bool cancelled = false;
    pair.server->serve(any("s.watch"), [&](Request request) {
        open.add(request);
        request.respond();
    });
    pair.server->serve(any("s.cancel"), [&](Request request) {
        open.cancel(request);
        cancelled = open.empty();
        pair.loop.stop();
    });
    struct Body {
        static Task<int> run(Handle* handle) {
            auto stream = handle->stream("s.watch");
            co_await stream.next();
            co_return 1;
        }
    };
    run_task<int>(pair.scope, &Body::run, pair.client.get());
    pair.loop.run();
    CHECK(cancelled);
}
