// A PMI server on a thread of a test.
#pragma once

#include <cerrno>
#include <pmi/server.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace flux::pmi {

struct SocketPairs {
    explicit SocketPairs(unsigned count) {
        for (unsigned index = 0; index < count; ++index) {
            int fds[2];
            if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                throw std::system_error(errno, std::generic_category(), "socketpair");
            client_ends.push_back(fds[0]);
            server_ends.push_back(fds[1]);
        }
    }
    std::vector<int> client_ends;
    std::vector<int> server_ends;
};

/// Serves the given sockets until all peers have closed theirs.
class ServerThread {
public:
    ServerThread(Server server, std::vector<int> fds) : server_(std::move(server)), fds_(std::move(fds)) {
        thread_ = std::thread([this] { run(); });
    }
    ~ServerThread() { join(); }

    /// Wait until all clients have hung up. \returns the exit code of the last abort; -1 when there was none.
    int join() {
        if (thread_.joinable()) thread_.join();
        return abort_code_;
    }

private:
    void run() {
        std::vector<LineBuffer> input(fds_.size());
        std::vector<pollfd> polled;
        for (const auto fd : fds_) polled.push_back({fd, POLLIN, 0});
        for (auto open = fds_.size(); open > 0;) {
            ::poll(polled.data(), polled.size(), -1);
            for (unsigned client = 0; client < polled.size(); ++client) {
                if (polled[client].fd < 0 || !polled[client].revents) continue;
                char buffer[512];
                const auto count = ::read(polled[client].fd, buffer, sizeof(buffer));
                if (count > 0) input[client].append({buffer, static_cast<std::size_t>(count)});
                while (const auto line = input[client].next()) handle(server_.feed(client, *line));
                if (count > 0) continue;
                ::close(polled[client].fd);
                polled[client].fd = -1;
                --open;
            }
        }
    }
    void handle(const Server::Outcome& outcome) {
        for (const auto& [client, bytes] : outcome.replies)
            if (::write(fds_[client], bytes.data(), bytes.size()) < 0) std::abort();
        if (outcome.abort) abort_code_ = outcome.abort->exit_code;
    }

    Server server_;
    std::vector<int> fds_;
    int abort_code_ = -1;
    std::thread thread_;
};

} // namespace flux::pmi
