// Frames over a stream socket. Output is gathered in one buffer and written when the current turn's work is done.
#include <flux/transport.hpp>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace flux {

Transport::~Transport() = default;

struct SocketTransport::State : std::enable_shared_from_this<SocketTransport::State> {
    // One read takes at most this much, so that one busy peer does not starve the loop.
    static constexpr std::size_t read_size = 64 * 1024;

    State(Loop& loop, int fd) : loop(loop), fd(fd) {}
    ~State() { ::close(fd); }

    void start() {
        watcher = std::make_unique<FdWatcher>(loop, fd, [this](int ready) {
            auto self = shared_from_this();
            if (ready & FdWatcher::readable) on_readable();
            if (open && (ready & FdWatcher::writable)) write_out();
        });
        update();
    }

    void update() {
        if (!watcher) return;
        int directions = (reading ? FdWatcher::readable : 0) | (blocked ? FdWatcher::writable : 0);
        watcher->watch(directions);
    }

    void on_readable() {
        char buffer[read_size];
        ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            int errnum = n == 0 ? ECONNRESET : errno;
            close(Error(errnum, n == 0 ? "connection closed by peer" : ""));
            return;
        }
        try {
            decoder.feed(std::string_view(buffer, static_cast<std::size_t>(n)));
            while (open) {
                auto message = decoder.next();
                if (!message) break;
                on_message(std::move(*message));
            }
        } catch (const Error& error) {
            close(error);
        }
    }

    void enqueue(const Message& message) {
        auto size = out.size();
        encode_frame(message, out);
        queued += out.size() - size;
        if (message.charge) charges.emplace_back(queued, message.charge);
    }

    void advance(std::size_t size) {
        sent += size;
        gone += size;
        while (!charges.empty() && charges.front().first <= gone) charges.pop_front();
    }

    void write_out() {
        blocked = false;
        while (sent < out.size()) {
            ssize_t n = ::send(fd, out.data() + sent, out.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n >= 0) {
                advance(static_cast<std::size_t>(n));
            } else if (errno == EAGAIN) {
                blocked = true;
                break;
            } else if (errno != EINTR) {
                // The peer reads no more; what it said before is still to be read until its end of file.
                out.clear();
                sent = 0;
                charges.clear();
                broken = true;
                break;
            }
        }
        if (sent == out.size()) {
            out.clear();
            if (out.capacity() > (std::size_t(1) << 20)) out.shrink_to_fit();
            sent = 0;
        } else if (sent > (std::size_t(1) << 20)) {
            out.erase(0, sent);
            sent = 0;
        }
        update();
        if (out.empty() && drained) drained();
    }

    void close(const Error& error) {
        if (!std::exchange(open, false)) return;
        watcher.reset();
        auto callback = std::move(on_closed);
        if (callback) callback(error);
    }

    Loop& loop;
    int fd;
    OnMessage on_message;
    OnClosed on_closed;
    std::function<void()> drained;
    std::unique_ptr<FdWatcher> watcher;
    FrameDecoder decoder;
    std::string out;
    std::size_t sent = 0;
    // Messages count in their stream until their last byte has left.
    std::uint64_t queued = 0, gone = 0; // bytes ever
    std::deque<std::pair<std::uint64_t, Charge>> charges;
    bool open = true;
    bool broken = false;
    bool reading = true;
    bool blocked = false;
    bool flush_posted = false;
};

SocketTransport::SocketTransport(Loop& loop, int fd) : state_(std::make_shared<State>(loop, fd)) {}

SocketTransport::~SocketTransport() {
    state_->open = false;
    state_->watcher.reset();
}

void SocketTransport::start(OnMessage on_message, OnClosed on_closed) {
    state_->on_message = std::move(on_message);
    state_->on_closed = std::move(on_closed);
    state_->start();
}

void SocketTransport::send(Message message) {
    auto& state = *state_;
    if (!state.open || state.broken) return;
    state.enqueue(message);
    if (state.blocked || std::exchange(state.flush_posted, true)) return;
    state.loop.post([self = state_] {
        self->flush_posted = false;
        if (self->open) self->write_out();
    });
}

std::size_t SocketTransport::backlog() const noexcept { return state_->out.size() - state_->sent; }

void SocketTransport::flush(std::chrono::nanoseconds limit) noexcept {
    auto& state = *state_;
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (state.sent < state.out.size()) {
        ssize_t n = ::send(state.fd, state.out.data() + state.sent, state.out.size() - state.sent, MSG_NOSIGNAL);
        if (n >= 0) {
            state.advance(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            if (left.count() <= 0) break;
            pollfd ready{state.fd, POLLOUT, 0};
            ::poll(&ready, 1, static_cast<int>(left.count()));
        } else if (errno != EINTR) {
            break;
        }
    }
    state.out.clear();
    state.sent = 0;
}

std::uint64_t SocketTransport::taken() const noexcept { return state_->gone; }
int SocketTransport::fd() const noexcept { return state_->fd; }

void SocketTransport::read_enable(bool on) noexcept {
    state_->reading = on;
    state_->update();
}

void SocketTransport::on_drained(std::function<void()> callback) { state_->drained = std::move(callback); }

} // namespace flux
