#include "broker/listener/acceptor.hpp"
#include "broker/overlay/link/tcp.hpp"
#include "broker/overlay/link/transport.hpp"

#include <catch2/catch.hpp>
#include <fmt/core.h>
#include <uv.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace flux;
using namespace flux::broker;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

using Keys = std::shared_ptr<const LinkKeys>;

/// Two brokers that trust each other.
class KeyPair {
public:
    KeyPair() {
        auto a = LinkKeys::generate(), b = LinkKeys::generate();
        a.trust(b.public_key());
        b.trust(a.public_key());
        parent = std::make_shared<LinkKeys>(std::move(a));
        child = std::make_shared<LinkKeys>(std::move(b));
    }
    Keys parent, child;
};

/// One end of a link and what it hears.
class End {
public:
    End(std::unique_ptr<Transport> link, LinkPeer who = {}) : peer(std::move(who)), transport(std::move(link)) {
        transport->start(
            [this](Message message) {
                if (on_message) return on_message(std::move(message));
                received.push_back(std::move(message));
            },
            [this](const Error& error) { closed = std::make_unique<Error>(error); });
    }
    void send(std::string_view topic, std::string bytes) {
        auto message = Message::request(topic);
        message.payload = Payload::from_bytes(std::move(bytes));
        transport->send(std::move(message));
    }

    LinkPeer peer;
    std::unique_ptr<Transport> transport;
    std::vector<Message> received;
    std::unique_ptr<Error> closed;
    std::function<void(Message)> on_message;
};

struct Refusal {
    std::string peer;
    Error error;
};

class Fixture {
public:
    Fixture() = default;
    ~Fixture() {
        scope.abort();
        loop.run_ready();
    }

    std::unique_ptr<LinkListener> listen(const std::string& uri, Keys keys, LinkOptions options = {}) {
        auto on_accept = [this](std::unique_ptr<Transport> link, const LinkPeer& peer) {
            accepted.emplace_back(std::move(link), peer);
        };
        auto on_refuse = [this](const std::string& peer, const Error& error) { refused.push_back({peer, error}); };
        return std::make_unique<LinkListener>(loop, Address::parse(uri), keys, options, on_accept, on_refuse);
    }
    std::unique_ptr<End> connect(Address address, Keys keys, std::optional<PublicKey> expected = {},
                                 LinkOptions options = {}) {
        auto link = run_task<std::unique_ptr<Transport>>(scope, &connect_link, &loop, address, keys, expected, options);
        return std::make_unique<End>(std::move(link));
    }
    Error failure(Address address, Keys keys, std::optional<PublicKey> expected = {}, LinkOptions options = {}) {
        try {
            connect(address, keys, expected, options);
        } catch (const Error& error) {
            return error;
        }
        return Error(EISCONN, "connected");
    }
    /// Run the loop until something holds; the test fails when that takes too long.
    void until(const std::function<bool()>& holds) {
        bool late = false;
        Timer limit(loop, [&] { late = true; });
        limit.start(60s);
        loop.run_ready();
        while (!holds() && !late) {
            uv_run(loop.raw(), UV_RUN_ONCE);
            loop.run_ready();
        }
        REQUIRE_FALSE(late);
    }

    Loop loop;
    Scope scope{loop};
    std::list<End> accepted;
    std::vector<Refusal> refused;
};

Task<> connect_into(Loop* loop, Address address, Keys keys, std::list<std::unique_ptr<Transport>>* links) {
    auto link = co_await connect_link(loop, address, keys, std::nullopt, LinkOptions());
    links->push_back(std::move(link));
}

Task<> connect_until_cancelled(Loop* loop, Address address, Keys keys, bool* cancelled) {
    try {
        co_await connect_link(loop, address, keys, std::nullopt, LinkOptions());
    } catch (const Cancelled&) {
        *cancelled = true;
    }
}

FileDescriptor raw_connection(std::uint16_t port) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(port);
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0);
    return socket;
}

/// Stands between the ends of one link: passes all bytes on and keeps a copy.
class Relay {
public:
    Relay(Loop& loop, std::uint16_t port)
        : acceptor_(loop, listen_tcp(Address::tcp("127.0.0.1", 0)), [this, &loop, port](FileDescriptor client) {
              ends_[0] = std::move(client);
              ends_[1] = raw_connection(port);
              for (int from : {0, 1}) {
                  ways_[from] = std::make_unique<FdWatcher>(loop, ends_[from].get(), [this, from](int) { pass(from); });
                  ways_[from]->watch(FdWatcher::readable);
              }
          }) {}
    Address address() const { return Address::tcp("127.0.0.1", port_of(acceptor_.fd())); }

    std::string seen;
    std::size_t limit = SIZE_MAX; ///< both connections are reset when so many bytes have passed
    bool flip_next = false;       ///< change a bit of what comes next

private:
    void pass(int from) {
        char buffer[16 * 1024];
        auto n = ::recv(ends_[from].get(), buffer, std::min(sizeof buffer, limit - seen.size()), MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return cut();
        if (std::exchange(flip_next, false)) buffer[n - 1] ^= 1;
        seen.append(buffer, static_cast<std::size_t>(n));
        ::send(ends_[1 - from].get(), buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL);
        if (seen.size() >= limit) cut();
    }
    void cut() {
        const linger reset{1, 0};
        for (int at : {0, 1}) {
            ways_[at].reset();
            ::setsockopt(ends_[at].get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            ends_[at].reset();
        }
    }

    Acceptor acceptor_;
    FileDescriptor ends_[2];
    std::unique_ptr<FdWatcher> ways_[2];
};

/// Bytes in which every position tells.
std::string pattern(std::size_t size, unsigned seed) {
    std::string bytes(size, '\0');
    std::uint64_t state = seed + 1;
    for (auto& byte : bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<char>(state >> 56);
    }
    return bytes;
}

class TemporaryDirectory {
public:
    TemporaryDirectory() { REQUIRE(::mkdtemp(path.data())); }
    ~TemporaryDirectory() { std::filesystem::remove_all(path); }
    std::string path = std::filesystem::temp_directory_path() / "flux-link-XXXXXX";
};

void exchange(Fixture& f, End& a, End& b) {
    constexpr std::size_t small = 5000, big = 10'000'000;
    for (auto* end : {&a, &b}) {
        end->send("big.first", pattern(big, 1));
        for (unsigned i = 0; i < small; ++i) end->send("small", pattern(i % 300 + 1, i));
        end->send("big.last", pattern(big, 2));
        CHECK(end->transport->backlog() > 2 * big);
    }
    for (auto* end : {&a, &b}) {
        f.until([&] { return end->received.size() == small + 2; });
        CHECK(end->received.front().payload.bytes() == pattern(big, 1));
        CHECK(end->received.back().payload.bytes() == pattern(big, 2));
        bool intact = true;
        for (unsigned i = 0; i < small; ++i) intact &= end->received[i + 1].payload.bytes() == pattern(i % 300 + 1, i);
        CHECK(intact);
        CHECK_FALSE(end->closed);
    }
    f.until([&] { return a.transport->backlog() + b.transport->backlog() == 0; });
}

} // namespace

TEST_CASE("link: messages over tcp, both ways", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    CHECK(listener->address().host() == "127.0.0.1");
    REQUIRE(listener->address().port() != 0);
    auto child = f.connect(listener->address(), keys.child, keys.parent->public_key());
    f.until([&] { return !f.accepted.empty(); });
    auto& parent = f.accepted.front();
    CHECK_THAT(parent.peer.name, Contains("127.0.0.1:"));
    CHECK(parent.peer.key == keys.child->public_key());
    exchange(f, *child, parent);

    f.accepted.clear();
    f.until([&] { return child->closed != nullptr; });
    CHECK(child->closed->errnum() == ECONNRESET);
}

TEST_CASE("link: messages over ipc, both ways", "[link]") {
    Fixture f;
    TemporaryDirectory directory;
    auto listener = f.listen("ipc://" + directory.path + "/link", nullptr);
    auto child = f.connect(listener->address(), nullptr);
    f.until([&] { return !f.accepted.empty(); });
    CHECK(f.accepted.front().peer.name == fmt::format("uid {} pid {}", ::getuid(), ::getpid()));
    CHECK_FALSE(f.accepted.front().peer.key);
    exchange(f, *child, f.accepted.front());
    listener.reset();
    auto error = f.failure(Address::ipc(directory.path + "/link"), nullptr);
    CHECK(error.errnum() == ENOENT);
    CHECK(error.text() == "cannot connect to ipc://" + directory.path + "/link: No such file or directory");
}

TEST_CASE("link: another user is refused over ipc", "[link]") {
    if (::getuid() != 0) return; // only root can be another
    Fixture f;
    TemporaryDirectory directory;
    auto path = directory.path + "/link";
    auto listener = f.listen("ipc://" + path, nullptr);
    std::filesystem::permissions(directory.path, std::filesystem::perms(0755));
    std::filesystem::permissions(path, std::filesystem::perms(0777));
    auto pid = ::fork();
    if (pid == 0) {
        sockaddr_un target{};
        target.sun_family = AF_UNIX;
        std::strcpy(target.sun_path, path.c_str());
        int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
        char byte;
        bool refused = ::setresuid(65534, 65534, 65534) == 0 &&
                       ::connect(fd, reinterpret_cast<sockaddr*>(&target), sizeof target) == 0 &&
                       ::read(fd, &byte, 1) == 0;
        ::_exit(refused ? 0 : 1);
    }
    f.until([&] { return !f.refused.empty(); });
    CHECK(f.refused[0].peer == fmt::format("uid 65534 pid {}", pid));
    CHECK(f.refused[0].error.errnum() == EPERM);
    int status = -1;
    ::waitpid(pid, &status, 0);
    CHECK(status == 0);
    CHECK(f.accepted.empty());
}

TEST_CASE("link: nothing readable crosses the wire", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    Relay relay(f.loop, listener->address().port());
    auto child = f.connect(relay.address(), keys.child);
    f.until([&] { return !f.accepted.empty(); });
    const std::string secret = "attack at dawn, attack at dawn, attack at dawn";
    child->send("secret.topic", secret);
    f.accepted.front().send("secret.topic", secret);
    f.until([&] { return !child->received.empty() && !f.accepted.front().received.empty(); });
    CHECK(child->received[0].payload.bytes() == secret);
    CHECK(relay.seen.size() > 2 * secret.size());
    for (std::string_view word : {"attack", "dawn", "secret", "topic"})
        CHECK(relay.seen.find(word) == std::string::npos);
}

TEST_CASE("link: a wrong key is refused and both ends know both keys", "[link]") {
    Fixture f;
    KeyPair keys, others;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    auto check = [&](const Error& here, const Keys& child) {
        f.until([&] { return !f.refused.empty(); });
        auto there = f.refused.back().error;
        CHECK(f.refused.size() == 1);
        CHECK_THAT(f.refused.back().peer, Contains("127.0.0.1:"));
        for (const auto& error : {here, there}) {
            CHECK(error.errnum() == EKEYREJECTED);
            CHECK_THAT(error.text(), Contains("wrong key") && Contains(child->public_key().fingerprint()) &&
                                         Contains(keys.parent->public_key().fingerprint()));
        }
        CHECK_THAT(here.text(), Contains(listener->address().to_string()));
        CHECK(f.accepted.empty());
        f.refused.clear();
    };
    SECTION("neither end knows the other") { check(f.failure(listener->address(), others.child), others.child); }
    SECTION("the child is a stranger") {
        auto stranger = LinkKeys::generate();
        stranger.trust(keys.parent->public_key());
        Keys child = std::make_shared<LinkKeys>(std::move(stranger));
        check(f.failure(listener->address(), child), child);
    }
    SECTION("the parent is another than expected") {
        check(f.failure(listener->address(), keys.child, others.parent->public_key()), keys.child);
    }
    CHECK(f.connect(listener->address(), keys.child));
}

TEST_CASE("link: keys roll", "[link]") {
    Fixture f;
    auto parent = LinkKeys::generate(), old_child = LinkKeys::generate(), new_child = LinkKeys::generate();
    auto trusting = [](LinkKeys keys, std::initializer_list<LinkKeys> peers) {
        for (const auto& peer : peers) keys.trust(peer.public_key());
        return std::make_shared<LinkKeys>(std::move(keys));
    };
    auto before = trusting(old_child, {parent}), after = trusting(new_child, {parent});
    auto listener = f.listen("tcp://127.0.0.1:0", trusting(parent, {old_child}));
    auto established = f.connect(listener->address(), before);
    CHECK(f.failure(listener->address(), after).errnum() == EKEYREJECTED);

    listener->set_keys(trusting(parent, {old_child, new_child}));
    CHECK(f.connect(listener->address(), before));
    CHECK(f.connect(listener->address(), after));

    listener->set_keys(trusting(parent, {new_child}));
    CHECK(f.failure(listener->address(), before).errnum() == EKEYREJECTED);
    CHECK(f.connect(listener->address(), after));
    established->send("still", "here");
    f.until([&] { return !f.accepted.front().received.empty(); });
}

TEST_CASE("link: who does not speak TLS is refused", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    for (unsigned seed = 0; seed < 20; ++seed) {
        auto socket = raw_connection(listener->address().port());
        auto garbage = seed == 0 ? std::string("GET / HTTP/1.1\r\n\r\n") : pattern(1000, seed);
        REQUIRE(::send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL) > 0);
        f.until([&] { return !f.refused.empty(); });
        CHECK(f.refused[0].error.errnum() == EPROTO);
        CHECK_THAT(f.refused[0].error.text(), Contains("TLS: "));
        f.refused.clear();
    }
    // A peer that leaves at once is no more.
    raw_connection(listener->address().port()).reset();
    f.until([&] { return !f.refused.empty(); });
    CHECK(f.refused[0].error.errnum() == ECONNRESET);
    CHECK(f.connect(listener->address(), keys.child));
}

TEST_CASE("link: silence ends at a limit on both ends", "[link]") {
    Fixture f;
    KeyPair keys;
    LinkOptions hasty;
    hasty.handshake_timeout = 30ms;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent, hasty);
    auto mute = raw_connection(listener->address().port());
    f.until([&] { return !f.refused.empty(); });
    CHECK(f.refused[0].error.errnum() == ETIMEDOUT);
    CHECK(f.refused[0].error.text() == "handshake timeout: not done within 0.03 s");
    char byte;
    CHECK(::recv(mute.get(), &byte, 1, 0) == 0);

    auto deaf = listen_tcp(Address::tcp("127.0.0.1", 0)); // connects, and nobody accepts
    auto address = Address::tcp("127.0.0.1", port_of(deaf.get()));
    auto error = f.failure(address, keys.child, {}, hasty);
    CHECK(error.errnum() == ETIMEDOUT);
    CHECK(error.text() == address.to_string() + ": handshake timeout: not done within 0.03 s");
}

TEST_CASE("link: a crowd of silent strangers keeps nobody out", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 300; ++i) silent.push_back(raw_connection(listener->address().port()));
    LinkOptions patient;
    patient.handshake_timeout = 60s;
    auto child = f.connect(listener->address(), keys.child, {}, patient);
    f.until([&] { return !f.accepted.empty(); });
    CHECK(f.refused.size() >= 45);
}

TEST_CASE("link: many handshakes at once", "[link]") {
    Fixture f;
    KeyPair keys;
    constexpr std::size_t count = 400;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    std::list<std::unique_ptr<Transport>> links;
    for (std::size_t i = 0; i < count; ++i) {
        f.scope.spawn("connect", &connect_into, &f.loop, listener->address(), keys.child, &links);
    }
    f.until([&] { return links.size() == count && f.accepted.size() == count; });
    CHECK(f.refused.empty());
}

TEST_CASE("link: a reset in the middle of a record", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    Relay relay(f.loop, listener->address().port());
    auto child = f.connect(relay.address(), keys.child);
    f.until([&] { return !f.accepted.empty(); });
    child->send("whole", "message");
    f.until([&] { return !f.accepted.front().received.empty(); });
    relay.limit = relay.seen.size() + 100'000;
    child->send("cut", pattern(1'000'000, 7));
    auto& parent = f.accepted.front();
    f.until([&] { return parent.closed && child->closed; });
    CHECK(parent.received.size() == 1);
    CHECK(parent.closed->errnum() == ECONNRESET);
    CHECK(child->closed->errnum() == ECONNRESET);
    child->send("too", "late");
    CHECK(child->transport->backlog() == 0);
}

TEST_CASE("link: a changed byte ends the link", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    Relay relay(f.loop, listener->address().port());
    auto child = f.connect(relay.address(), keys.child);
    f.until([&] { return !f.accepted.empty(); });
    relay.flip_next = true;
    child->send("topic", "bytes");
    auto& parent = f.accepted.front();
    f.until([&] { return parent.closed && child->closed; });
    CHECK(parent.closed->errnum() == EPROTO);
    CHECK_THAT(parent.closed->text(), Contains("TLS: "));
    CHECK(parent.received.empty());
}

TEST_CASE("link: a slow reader holds the writer back", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    auto child = f.connect(listener->address(), keys.child);
    f.until([&] { return !f.accepted.empty(); });
    // Nothing turns the loop, so nobody reads: flush() gives up at its limit.
    constexpr std::size_t size = 50'000'000;
    Flow flow(1, [] {});
    auto message = Message::request("bulk");
    message.payload = Payload::from_bytes(std::string(size, 'x'));
    message.charge = flow.charge(size);
    child->transport->send(std::move(message));
    auto start = std::chrono::steady_clock::now();
    child->transport->flush(20ms);
    CHECK(std::chrono::steady_clock::now() - start < 10s);
    CHECK(flow.full());
}

TEST_CASE("link: flush sends the last words", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    auto child = f.connect(listener->address(), keys.child);
    f.until([&] { return !f.accepted.empty(); });
    child->send("good", "bye");
    child->transport->flush();
    child.reset();
    auto& parent = f.accepted.front();
    f.until([&] { return parent.closed != nullptr; });
    REQUIRE(parent.received.size() == 1);
    CHECK(parent.received[0].topic == "good");
}

TEST_CASE("link: errors of connecting and listening name the address", "[link]") {
    Fixture f;
    KeyPair keys;
    auto listener = f.listen("tcp://127.0.0.1:0", keys.parent);
    auto port = listener->address().port();
    CHECK_THROWS_WITH(f.listen(listener->address().to_string(), keys.parent),
                      fmt::format("cannot listen at tcp://127.0.0.1:{}: Address already in use", port));
    CHECK_THROWS_WITH(f.listen("tcp://no-such-interface:0", keys.parent),
                      Contains("'no-such-interface' is no address or network interface of this host"));
    CHECK_THROWS_WITH(f.listen("tcp://lo:0", nullptr), "tcp://lo:0: this broker has no key for tcp://");
    CHECK(f.failure(listener->address(), nullptr).errnum() == EINVAL);
    listener.reset();
    auto refused = f.failure(Address::tcp("127.0.0.1", port), keys.child);
    CHECK(refused.errnum() == ECONNREFUSED);
    CHECK(refused.text() ==
          fmt::format("cannot connect to tcp://127.0.0.1:{0}: 127.0.0.1:{0}: Connection refused", port));
    LinkOptions hasty;
    hasty.connect_timeout = 2s;
    auto unknown = f.failure(Address::tcp("no-such-host.invalid", 1), keys.child, {}, hasty);
    CHECK_THAT(unknown.text(), Contains("cannot resolve 'no-such-host.invalid'"));
}

TEST_CASE("link: hosts by name, interface and wildcard", "[link]") {
    Fixture f;
    KeyPair keys;
    for (auto uri : {"tcp://lo:*", "tcp://*:*"}) {
        auto listener = f.listen(uri, keys.parent);
        auto known = f.accepted.size();
        CHECK(f.connect(Address::tcp("localhost", listener->address().port()), keys.child));
        CHECK(f.connect(Address::tcp("127.0.0.1", listener->address().port()), keys.child));
        f.until([&] { return f.accepted.size() == known + 2; });
        CHECK_THAT(f.accepted.back().peer.name, Catch::StartsWith("127.0.0.1:"));
    }
}

TEST_CASE("link: a connect can be abandoned", "[link]") {
    Fixture f;
    KeyPair keys;
    auto deaf = listen_tcp(Address::tcp("127.0.0.1", 0));
    auto address = Address::tcp("127.0.0.1", port_of(deaf.get()));
    bool cancelled = false;
    f.scope.spawn("connect", &connect_until_cancelled, &f.loop, address, keys.child, &cancelled);
    f.loop.run_ready();
    f.scope.abort();
    f.until([&] { return cancelled; });
}
