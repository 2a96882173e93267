// What TLS costs a link between two brokers: round trips of small messages, one at a time and many at once, and bytes a
// second, over ipc:// and over tcp://, alternating. The other end is a process of its own that sends back what it gets.
#include "broker/overlay/link/transport.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace flux;
using namespace flux::broker;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 9;
// A response to a small RPC is about so large.
constexpr std::size_t small_size = 128;
constexpr std::size_t big_size = 1 << 20;

/// Seconds until `count` messages came back, with `window` of them under way.
double exchange(Loop& loop, Transport& link, int count, int window, const Payload& payload, int& answered) {
    auto message = Message::request("bench.echo");
    message.payload = payload;
    answered = 0;
    int sent = 0;
    auto start = Clock::now();
    while (answered < count) {
        for (; sent < count && sent - answered < window; ++sent) link.send(message);
        loop.run(); // until an answer stops it
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Sends back what it gets until the link ends.
[[noreturn]] void echo(const Address& address, std::shared_ptr<const LinkKeys> keys, int ready) {
    Loop loop;
    std::unique_ptr<Transport> link;
    LinkListener listener(
        loop, address, std::move(keys), LinkOptions(),
        [&](std::unique_ptr<Transport> accepted, const LinkPeer&) {
            link = std::move(accepted);
            link->start([&](Message message) { link->send(std::move(message)); }, [&](const Error&) { loop.stop(); });
        },
        [](const std::string&, const Error&) {});
    auto uri = listener.address().to_string();
    if (::write(ready, uri.data(), uri.size()) != static_cast<ssize_t>(uri.size())) ::_exit(1);
    ::close(ready);
    loop.run();
    ::_exit(0);
}

class Link {
public:
    Link(Loop& loop, Scope& scope, const Address& address, std::shared_ptr<const LinkKeys> keys) : loop_(loop) {
        int pipe[2];
        if (::pipe(pipe) < 0) throw Error(errno, "pipe");
        if (::fork() == 0) echo(address, keys, pipe[1]);
        ::close(pipe[1]);
        char uri[256];
        auto size = ::read(pipe[0], uri, sizeof uri);
        ::close(pipe[0]);
        if (size <= 0) throw Error(EIO, "the other end did not start");
        auto target = Address::parse(std::string_view(uri, static_cast<std::size_t>(size)));
        transport_ = run_task<std::unique_ptr<Transport>>(scope, &connect_link, &loop, target, keys,
                                                          std::optional<PublicKey>(), LinkOptions());
        transport_->start(
            [this](Message) {
                ++answered_;
                loop_.stop();
            },
            [](const Error& error) { throw error; });
    }
    double run(int count, int window, const Payload& payload) {
        return exchange(loop_, *transport_, count, window, payload, answered_);
    }

private:
    Loop& loop_;
    std::unique_ptr<Transport> transport_;
    int answered_ = 0;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + rounds / 2, values.end());
    return values[rounds / 2];
}

void compare(const char* what, Link& ipc, Link& tcp, int count, int window, std::size_t size) {
    const auto payload = Payload::from_bytes(std::string(size, 'x'));
    std::vector<double> plain, secure;
    for (int round = 0; round < rounds; ++round) {
        plain.push_back(ipc.run(count, window, payload));
        secure.push_back(tcp.run(count, window, payload));
    }
    auto a = median(plain), b = median(secure);
    if (size >= big_size)
        fmt::print("{}: ipc {:.0f} MB/s, tcp {:.0f} MB/s", what, count * size / a / 1e6, count * size / b / 1e6);
    else
        fmt::print("{}: ipc {:.1f} us, tcp {:.1f} us", what, a / count * 1e6, b / count * 1e6);
    fmt::print(", TLS has {:.0f} % of the rate\n", 100 * a / b);
}

} // namespace

int main() {
    auto directory = (std::filesystem::temp_directory_path() / "flux-bench-XXXXXX").string();
    if (!::mkdtemp(directory.data())) return 1;
    int code = 0;
    try {
        auto own = LinkKeys::generate();
        own.trust(own.public_key());
        auto keys = std::make_shared<LinkKeys>(std::move(own));
        Loop loop;
        Scope scope(loop);
        Link ipc(loop, scope, Address::ipc(directory + "/link"), nullptr);
        Link tcp(loop, scope, Address::tcp("127.0.0.1", 0), keys);
        compare("small messages, one at a time", ipc, tcp, 2000, 1, small_size);
        compare("small messages, 64 at a time", ipc, tcp, 20000, 64, small_size);
        compare("messages of 1 MiB, 4 at a time", ipc, tcp, 50, 4, big_size);
    } catch (const Error& error) {
        fmt::print(stderr, "bench link: {}\n", error.what());
        code = 1;
    }
    while (::wait(nullptr) > 0) {}
    std::filesystem::remove_all(directory);
    return code;
}
