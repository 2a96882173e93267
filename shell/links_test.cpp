#include "links.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using namespace flux::shell;

namespace {

// A shell whose requests go to the other one, each of them twice, as after a lost answer.
class End final : public Links::Host {
public:
    End(Handle& handle, Scope& scope, unsigned rank)
        : links(*this, rank), handle_(handle), scope_(scope), topic_(std::to_string(rank) + ".link") {
        handle.serve(Method(topic_, MethodClass::keyed, role_all),
                     [this](Request request) { links.receive(std::move(request)); });
        links.on_message("note", [this](unsigned from, JsonView payload) {
            taken.push_back(std::to_string(from) + ':' + payload["n"].dump());
        });
        links.on_message("bad", [](unsigned, JsonView) { throw Error(EPROTO, "bad"); });
    }
    Task<> deliver(unsigned rank, Payload payload) override {
        if (gone) throw Error(ENOSYS);
        auto topic = std::to_string(rank) + ".link";
        auto first = handle_.call(topic, payload);
        auto again = handle_.call(topic, payload);
        co_await first;
        co_await again;
    }
    void link_error(unsigned, const Error&) override { ++errors; }
    Scope& link_scope() noexcept override { return scope_; }
    void link_busy(bool on) override { busy += on ? 1 : -1; }

    Links links;
    std::vector<std::string> taken;
    int errors = 0;
    int busy = 0;
    bool gone = false;

private:
    Handle& handle_;
    Scope& scope_;
    std::string topic_;
};

struct Fixture {
    Loop loop;
    Scope scope{loop};
    Handle handle{loop, std::make_unique<LoopTransport>(loop)};
    End a{handle, scope, 0};
    End b{handle, scope, 1};
    void settle() {
        Timer end(loop, [this] { loop.stop(); });
        end.start(std::chrono::milliseconds(1));
        loop.run();
    }
};

Json note(int n) { return Json::object("n", n); }

} // namespace

TEST_CASE("links: each message arrives once, in order", "[shell]") {
    Fixture f;
    for (int n = 0; n < 3; ++n) f.a.links.send(1, "note", note(n));
    f.settle();
    CHECK(f.b.taken.empty()); // not open yet
    CHECK(f.a.links.unsent(1) == 3);
    f.a.links.open();
    f.a.links.send(1, "note", note(3));
    f.a.links.send(1, "unknown", note(3));
    CHECK(f.a.busy == 1);
    f.settle();
    f.a.links.send(1, "note", note(4));
    f.settle();
    CHECK(f.b.taken == std::vector<std::string>{"0:0", "0:1", "0:2", "0:3", "0:4"});
    CHECK(f.a.links.unsent(1) == 0);
    CHECK(f.a.busy == 0);
    f.a.links.send(1, "bad", note(0));
    f.settle();
    CHECK(f.b.errors == 1);
    CHECK(f.a.errors == 0);
}

TEST_CASE("links: a stalled receiver makes messages pile up", "[shell]") {
    Fixture f;
    f.a.links.open();
    f.b.links.stall(true);
    for (int n = 0; n < 5; ++n) {
        f.a.links.send(1, "note", note(n));
        f.settle();
    }
    CHECK(f.b.taken.size() == 1);
    CHECK(f.a.links.unsent(1) == 5);
    int called = 0;
    f.a.links.when_unsent(1, 2, [&] { ++called; });
    f.settle();
    CHECK(called == 0);
    f.b.links.stall(false);
    f.settle();
    CHECK(called == 1);
    CHECK(f.b.taken.size() == 5);
}

TEST_CASE("links: what is for a lost shell is dropped", "[shell]") {
    Fixture f;
    f.a.links.open();
    f.a.gone = true;
    f.a.links.send(1, "note", note(0));
    f.settle();
    CHECK(f.a.errors == 1);
    CHECK(f.a.busy == 0);
    f.a.links.send(1, "note", note(1));
    CHECK(f.a.links.unsent(1) == 0);
    f.settle();
}
