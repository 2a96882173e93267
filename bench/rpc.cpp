// bench_rpc [TOPIC [RANK]]: round trip of a small RPC through the broker to a module and back, beside a blocking
// 128-byte ping-pong between two processes over a socketpair, alternating; see rpc.sh and configured.py.
#include <flux/handle.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace flux;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 20;
constexpr int per_round = 1000;
constexpr std::size_t message_size = 128;

double microseconds(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / per_round;
}

void transfer(int fd, bool out) {
    char buffer[message_size] = {};
    for (std::size_t done = 0; done < sizeof buffer;) {
        ssize_t n =
            out ? ::write(fd, buffer + done, sizeof buffer - done) : ::read(fd, buffer + done, sizeof buffer - done);
        if (n <= 0) ::_exit(n == 0 ? 0 : 1);
        done += static_cast<std::size_t>(n);
    }
}

double ping_pong(int fd) {
    auto start = Clock::now();
    for (int i = 0; i < per_round; ++i) {
        transfer(fd, true);
        transfer(fd, false);
    }
    return microseconds(start);
}

Task<int> measure(Handle* handle, std::string topic, CallOptions options, int fd) {
    std::vector<double> plain, rpc;
    for (int round = 0; round < rounds; ++round) {
        plain.push_back(ping_pong(fd));
        auto start = Clock::now();
        for (int i = 0; i < per_round; ++i) {
            auto payload = Json::object("seq", i);
            co_await handle->call(topic, std::move(payload), options);
        }
        rpc.push_back(microseconds(start));
    }
    std::sort(plain.begin(), plain.end());
    std::sort(rpc.begin(), rpc.end());
    auto a = plain[rounds / 2], b = rpc[rounds / 2];
    fmt::print("{}: {:.2f} us a round trip, socketpair ping-pong {:.2f} us, ratio {:.2f}\n", topic, b, a, b / a);
    co_return 0;
}

} // namespace

int main(int argc, char** argv) {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0) return 1;
    if (::fork() == 0) {
        ::close(fds[0]);
        for (;;) {
            transfer(fds[1], false);
            transfer(fds[1], true);
        }
    }
    ::close(fds[1]);
    int code = 1;
    try {
        Loop loop;
        Scope scope(loop);
        auto handle = Handle::open(loop);
        CallOptions options;
        if (argc > 2) options.rank(static_cast<std::uint32_t>(std::stoul(argv[2])));
        std::string topic(argc > 1 ? argv[1] : "heartbeat.ping");
        code = run_task<int>(scope, &measure, handle.get(), topic, options, fds[0]);
    } catch (const Error& error) {
        fmt::print(stderr, "bench rpc: {}\n", error.what());
    }
    ::close(fds[0]);
    ::wait(nullptr);
    return code;
}
