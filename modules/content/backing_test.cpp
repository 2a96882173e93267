#include "backing.hpp"

#include <flux/content_protocol.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <map>
#include <sys/socket.h>

using namespace flux;
using namespace std::chrono_literals;

namespace {

namespace cache_protocol = content_protocol;
namespace store_protocol = content_backing_protocol;

// Gives what arrives the credentials of the owner and the route id of `sender`, as a broker would.
class Stamp final : public Transport {
public:
    Stamp(std::unique_ptr<Transport> below, const std::string& sender) : below_(std::move(below)), sender_(sender) {}
    void start(OnMessage on_message, OnClosed on_closed) override {
        below_->start(
            [this, on_message = std::move(on_message)](Message message) {
                message.credentials = Credentials{0, role_owner};
                if (message.type == MessageType::request) message.push_route(sender_);
                on_message(std::move(message));
            },
            std::move(on_closed));
    }
    void send(Message message) override { below_->send(std::move(message)); }
    std::size_t backlog() const noexcept override { return below_->backlog(); }

private:
    std::unique_ptr<Transport> below_;
    const std::string& sender_;
};

Blobref ref(char name) { return Blobref(HashKind::sha1, std::string(20, name)); }
std::string names(const std::vector<ContentCommit::Blob>& blobs) {
    std::string all;
    for (const auto& blob : blobs) all += blob.digest.front();
    return all;
}

// The cache's side of rank 0 on one end of a socketpair; on the other the broker, a client, and a store that notes what
// it is told.
struct Rank0 {
    Loop loop;
    Scope scope{loop};
    std::string sender = "store";
    std::unique_ptr<Handle> cache_handle, outside;
    BlobCache cache;
    std::optional<Backing> backing;

    std::vector<std::string> commits; // first letters of the blobs of each
    std::map<char, std::string> blobs;
    std::vector<Request> held; // while `hold`
    bool hold = false;
    int fails_with = 0;

    Rank0() {
        int fds[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        auto stamp = [&](int fd) {
            return std::make_unique<Stamp>(std::make_unique<SocketTransport>(loop, fd), sender);
        };
        cache_handle = std::make_unique<Handle>(loop, stamp(fds[0]));
        outside = std::make_unique<Handle>(loop, stamp(fds[1]));
        backing.emplace(*cache_handle, cache, HashKind::sha1, 3);
        auto to_backing = [this](const Method& method, void (Backing::*handler)(const Request&)) {
            cache_handle->serve(method, [this, handler](Request request) { (&*backing->*handler)(request); });
        };
        to_backing(cache_protocol::commit, &Backing::commit);
        to_backing(cache_protocol::flush, &Backing::flush);
        to_backing(cache_protocol::checkpoint_put, &Backing::checkpoint_put);
        to_backing(cache_protocol::checkpoint_get, &Backing::checkpoint_get);
        to_backing(cache_protocol::register_backing, &Backing::register_store);
        to_backing(cache_protocol::unregister_backing, &Backing::unregister_store);
        to_backing(cache_protocol::disconnect, &Backing::disconnect);
    }

    void serve_store() {
        outside->serve(store_protocol::hello,
                       [](Request request) { request.respond(Json::object("name", "content-test", "uuid", "store")); });
        outside->serve(store_protocol::commit, [this](Request request) {
            if (hold)
                held.push_back(std::move(request));
            else
                commit(request);
        });
        outside->serve(store_protocol::load, [this](Request request) {
            auto found = blobs.find(request.message().payload.bytes().front());
            if (found == blobs.end()) throw Error(ENOENT);
            request.respond(Payload::from_bytes(found->second));
        });
        outside->serve(store_protocol::checkpoint_put, [this](Request request) {
            commits.push_back("checkpoint");
            request.respond();
        });
    }
    void remove_store() {
        for (const auto* method :
             {&store_protocol::hello, &store_protocol::commit, &store_protocol::load, &store_protocol::checkpoint_put})
            outside->unserve(method->topic);
    }
    void commit(const Request& request) {
        ContentCommit content(request.message().payload.bytes(), HashKind::sha1);
        commits.push_back(names(content.blobs()));
        if (fails_with) throw Error(fails_with, "no room");
        for (const auto& blob : content.blobs()) blobs[blob.digest.front()] = blob.bytes;
        request.respond();
    }
    void release() {
        hold = false;
        for (auto& request : std::exchange(held, {})) commit(request);
    }

    void store(char name) {
        if (cache.insert_dirty(ref(name), Payload::from_bytes(std::string(3, name)), {})) backing->write(ref(name));
    }
    static Payload commit_of(char name) {
        ContentCommitWriter writer;
        writer.add(std::string(20, name), std::string(3, name));
        return writer.finish(Json::object("checkpoint", Json::object("n", 1)));
    }

    // A call from outside, and what became of it.
    struct Outcome {
        bool ended = false;
        int errnum = 0;
        std::string text;
    };
    std::shared_ptr<Outcome> ask(const Method& method, Payload payload = {}) {
        auto outcome = std::make_shared<Outcome>();
        outside->call(method.topic, std::move(payload)).then([this, outcome](const Message& response) {
            outcome->ended = true;
            outcome->errnum = response.errnum();
            if (response.errnum()) outcome->text = response.error_text();
            loop.stop();
        });
        return outcome;
    }
    Outcome& wait(const std::shared_ptr<Outcome>& outcome) {
        while (!outcome->ended) loop.run();
        return *outcome;
    }
    Outcome call(const Method& method, Payload payload = {}) { return wait(ask(method, std::move(payload))); }
    Outcome call(const Method& method, Json payload) { return call(method, Payload::from_json(std::move(payload))); }
    Outcome register_store(const char* name = "content-test") {
        return call(cache_protocol::register_backing, Json::object("name", name));
    }
    // A message there and back: all that was sent before has arrived.
    void settle() { call(Method("content.none", MethodClass::read)); }
    int load(char name) {
        int errnum = -1;
        backing->load(ref(name), [&](const Message& response) {
            errnum = response.errnum();
            loop.stop();
        });
        while (errnum < 0) loop.run();
        return errnum;
    }
};

} // namespace

TEST_CASE("backing: without a store blobs stay in memory until there is one", "[content]") {
    Rank0 rank0;
    rank0.store('a');
    CHECK(rank0.call(cache_protocol::commit, Rank0::commit_of('b')).errnum == 0);
    CHECK(rank0.cache.dirty_count() == 2);
    CHECK(rank0.load('z') == ENOENT);
    CHECK(rank0.call(cache_protocol::flush).errnum == ENOSYS);
    CHECK(rank0.call(cache_protocol::checkpoint_get).text == "checkpoint get unavailable, no backing store");
    auto checkpoint = Json::object("value", Json::object());
    CHECK(rank0.call(cache_protocol::checkpoint_put, std::move(checkpoint)).text ==
          "checkpoint put unavailable, no backing store");
    CHECK(rank0.call(cache_protocol::unregister_backing).errnum == EINVAL);

    rank0.serve_store();
    CHECK(rank0.register_store().errnum == 0);
    CHECK(rank0.call(cache_protocol::flush).errnum == 0);
    CHECK(rank0.commits == std::vector<std::string>{"ab"});
    CHECK(rank0.cache.dirty_count() == 0);
    CHECK(rank0.load('a') == 0);
    CHECK(rank0.load('z') == ENOENT);
}

TEST_CASE("backing: one store, always of one name", "[content]") {
    Rank0 rank0;
    rank0.serve_store();
    CHECK(rank0.register_store().errnum == 0);
    rank0.sender = "other";
    CHECK(rank0.register_store().errnum == EBUSY);
    CHECK(rank0.call(cache_protocol::disconnect).errnum == EIO); // of somebody else; it has no answer
    CHECK(rank0.register_store().errnum == EBUSY);
    CHECK(rank0.call(cache_protocol::unregister_backing).errnum == 0);
    CHECK(rank0.register_store("content-other").text == "content backing store cannot be changed on the fly");
    CHECK(rank0.register_store().errnum == 0);
}

TEST_CASE("backing: a commit takes the blobs before it along", "[content]") {
    Rank0 rank0;
    rank0.serve_store();
    rank0.register_store();
    rank0.hold = true;
    rank0.store('a');
    rank0.settle();
    rank0.store('b');
    auto commit = rank0.ask(cache_protocol::commit, Rank0::commit_of('c'));
    rank0.settle();
    rank0.store('d');
    auto flush = rank0.ask(cache_protocol::flush);
    rank0.settle();
    CHECK_FALSE(commit->ended);
    CHECK(rank0.backing->batch_count() == 1);
    rank0.release();
    CHECK(rank0.wait(commit).errnum == 0);
    CHECK(rank0.wait(flush).errnum == 0);
    CHECK(rank0.commits == std::vector<std::string>{"a", "bc", "d"});
    CHECK(rank0.cache.dirty_count() == 0);
    CHECK(rank0.cache.peek(ref('c')));
    auto checkpoint = Json::object("value", Json::object());
    CHECK(rank0.call(cache_protocol::checkpoint_put, std::move(checkpoint)).errnum == 0);
    CHECK(rank0.commits.back() == "checkpoint");
    CHECK(rank0.call(cache_protocol::commit, Payload::from_bytes("xxx")).errnum == EPROTO);
}

TEST_CASE("backing: what cannot be written stays, and is written later", "[content]") {
    Rank0 rank0;
    rank0.serve_store();
    rank0.register_store();
    rank0.fails_with = ENOSPC;
    rank0.store('a');
    auto flush = rank0.call(cache_protocol::flush);
    CHECK(flush.errnum == ENOSPC);
    CHECK(flush.text == "no room");
    CHECK(rank0.cache.dirty_count() == 1);
    CHECK(rank0.call(cache_protocol::commit, Rank0::commit_of('c')).errnum == ENOSPC);
    CHECK_FALSE(rank0.cache.peek(ref('c')));
    auto checkpoint = rank0.call(cache_protocol::checkpoint_put, Json::object("value", Json::object()));
    CHECK(checkpoint.errnum == ENOSPC);
    CHECK(checkpoint.text == cache_protocol::flush_error);
    rank0.store('b');
    rank0.settle();
    CHECK(rank0.commits == std::vector<std::string>{"a", "ac", "a"}); // b waits for the next try
    SECTION("with the next request") {
        rank0.fails_with = 0;
        CHECK(rank0.call(cache_protocol::commit, Rank0::commit_of('c')).errnum == 0);
        CHECK(rank0.commits.back() == "abc");
    }
    SECTION("by itself") {
        rank0.fails_with = 0;
        struct Body {
            static Task<int> run(Backing* backing, BlobCache* cache) {
                while (cache->dirty_count()) co_await sleep_for(10ms);
                co_await backing->drain(1s);
                co_return 0;
            }
        };
        run_task<int>(rank0.scope, &Body::run, &*rank0.backing, &rank0.cache);
        CHECK(rank0.commits.back() == "ab");
    }
    CHECK(rank0.cache.dirty_count() == 0);
}

TEST_CASE("backing: what comes while the store is reloaded waits", "[content]") {
    Rank0 rank0;
    rank0.serve_store();
    rank0.register_store();
    rank0.store('a');
    CHECK(rank0.call(cache_protocol::flush).errnum == 0);
    SECTION("announced") {
        CHECK(rank0.call(cache_protocol::unregister_backing, Json::object("reload", true)).errnum == 0);
        rank0.remove_store();
    }
    SECTION("killed, as the broker tells") {
        rank0.outside->notify(cache_protocol::disconnect.topic);
        rank0.remove_store();
    }
    SECTION("killed, found out by a write") { rank0.remove_store(); }
    SECTION("killed while it wrote") {
        rank0.hold = true;
        rank0.store('b');
        rank0.settle();
        rank0.remove_store();
        for (auto& request : rank0.held) request.fail(EHOSTUNREACH, "module disconnect");
        rank0.held.clear();
        rank0.hold = false;
    }
    rank0.store('c');
    auto commit = rank0.ask(cache_protocol::commit, Rank0::commit_of('d'));
    auto flush = rank0.ask(cache_protocol::flush);
    int loaded = -1;
    rank0.backing->load(ref('a'), [&](const Message& response) { loaded = response.errnum(); });
    rank0.settle();
    rank0.settle();
    CHECK_FALSE(commit->ended);
    CHECK_FALSE(flush->ended);
    CHECK(loaded == -1);
    CHECK(rank0.cache.dirty_count() >= 1);
    rank0.sender = "new";
    rank0.serve_store();
    CHECK(rank0.register_store().errnum == 0);
    CHECK(rank0.wait(commit).errnum == 0);
    CHECK(rank0.wait(flush).errnum == 0);
    rank0.settle();
    CHECK(loaded == 0);
    CHECK(rank0.cache.dirty_count() == 0);
}

TEST_CASE("backing: a store that leaves gets what is dirty", "[content]") {
    Rank0 rank0;
    rank0.serve_store();
    rank0.register_store();
    rank0.hold = true;
    for (char name = 'a'; name < 'f'; ++name) rank0.store(name);
    auto leave = rank0.ask(cache_protocol::unregister_backing);
    rank0.settle();
    CHECK_FALSE(leave->ended);
    rank0.release();
    CHECK(rank0.wait(leave).errnum == 0);
    CHECK(rank0.commits == std::vector<std::string>{"a", "bcd", "e"});
    CHECK(rank0.call(cache_protocol::flush).errnum == ENOSYS);
}

TEST_CASE("backing: a cache that starts finds the store", "[content]") {
    Rank0 rank0;
    SECTION("that is there") {
        rank0.serve_store();
        rank0.backing->discover();
        rank0.store('a');
        CHECK(rank0.call(cache_protocol::flush).errnum == 0);
        CHECK(rank0.blobs.size() == 1);
        CHECK(rank0.register_store().errnum == 0); // by the same
        rank0.sender = "other";
        CHECK(rank0.register_store().errnum == EBUSY);
    }
    SECTION("or that there is none") {
        rank0.backing->discover();
        auto flush = rank0.ask(cache_protocol::flush);
        CHECK(rank0.wait(flush).errnum == ENOSYS);
        CHECK(rank0.load('a') == ENOENT);
    }
}
