// Frames over a stream socket. Output is gathered and written when the current turn's work is done.
#include "libflux/rpc/byte_stream.hpp"
#include "libflux/rpc/send_queue.hpp"

#include <flux/file_descriptor.hpp>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <poll.h>
#include <string>
#include <sys/socket.h>

namespace flux {
namespace {

class PlainStream final : public ByteStream {
public:
    explicit PlainStream(int fd) noexcept : socket_(fd) {}
    int fd() const noexcept override { return socket_.get(); }
    ssize_t receive(char* into, std::size_t size) override { return ::recv(fd(), into, size, MSG_DONTWAIT); }
    ssize_t send(const char* bytes, std::size_t size) override {
        return ::send(fd(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }

private:
    FileDescriptor socket_;
};

struct StreamState : std::enable_shared_from_this<StreamState> {
    using OnMessage = Transport::OnMessage;
    using OnClosed = Transport::OnClosed;

    StreamState(Loop& loop, std::unique_ptr<ByteStream> stream) : loop(loop), stream(std::move(stream)) {}

    void start(OnMessage message_callback, OnClosed closed_callback) {
        on_message = std::move(message_callback);
        on_closed = std::move(closed_callback);
        watcher = std::make_unique<FdWatcher>(loop, stream->fd(), [this](int ready) {
            auto self = shared_from_this();
            if (ready & FdWatcher::readable) on_readable();
            if (open && (ready & FdWatcher::writable)) write_out();
        });
        update();
        // A handshake may have taken from the socket what makes no descriptor readable any more.
        loop.post([self = shared_from_this()] {
            if (self->open && self->reading) self->on_readable();
        });
    }

    void update() {
        if (!watcher) return;
        int directions = (reading ? FdWatcher::readable : 0) | (blocked ? FdWatcher::writable : 0);
        watcher->watch(directions);
    }

    void on_readable() {
        try {
            char buffer[ByteStream::read_size];
            ssize_t n = stream->receive(buffer, sizeof buffer);
            if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (n < 0) throw Error(errno);
            // Only one of both directions is told why the connection is over.
            if (n == 0 && broken && broken != EPIPE) throw Error(broken);
            if (n == 0) throw Error(ECONNRESET, "connection closed by peer");
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
        queued += out.add(message);
        if (message.charge) charges.emplace_back(queued, message.charge);
    }

    void advance(std::size_t size) {
        out.remove(size);
        gone += size;
        while (!charges.empty() && charges.front().first <= gone) charges.pop_front();
    }

    /// Give the stream what it takes now; errno tells why it took no more, 0 that all is gone.
    int push() noexcept {
        while (!out.empty()) {
            ssize_t n = -1;
            try {
                auto bytes = out.front();
                n = stream->send(bytes.data(), bytes.size());
            } catch (const Error& error) {
                errno = error.errnum();
            }
            if (n >= 0)
                advance(static_cast<std::size_t>(n));
            else if (errno != EINTR)
                return errno;
        }
        return 0;
    }

    void write_out() {
        int errnum = push();
        blocked = errnum == EAGAIN;
        if (errnum && !blocked) {
            // The peer reads no more; what it said before is still to be read until its end of file.
            out.clear();
            charges.clear();
            broken = errnum;
        }
        update();
        if (out.empty() && drained) drained();
    }

    void send(const Message& message) {
        if (!open || broken) return;
        enqueue(message);
        if (blocked || std::exchange(flush_posted, true)) return;
        loop.post([self = shared_from_this()] {
            self->flush_posted = false;
            if (self->open) self->write_out();
        });
    }

    void flush(std::chrono::nanoseconds limit) noexcept {
        const auto deadline = std::chrono::steady_clock::now() + limit;
        while (push() == EAGAIN) {
            auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            if (left.count() <= 0) break;
            pollfd ready{stream->fd(), POLLOUT, 0};
            ::poll(&ready, 1, static_cast<int>(left.count()));
        }
        out.clear();
    }

    std::size_t backlog() const noexcept { return out.size(); }

    void close(const Error& error) {
        if (!std::exchange(open, false)) return;
        watcher.reset();
        auto callback = std::move(on_closed);
        if (callback) callback(error);
    }

    /// Nobody is interested any more.
    void abandon() noexcept {
        open = false;
        watcher.reset();
    }

    Loop& loop;
    std::unique_ptr<ByteStream> stream;
    OnMessage on_message;
    OnClosed on_closed;
    std::function<void()> drained;
    std::unique_ptr<FdWatcher> watcher;
    FrameDecoder decoder;
    SendQueue out;
    // Messages count in their stream until their last byte has left.
    std::uint64_t queued = 0, gone = 0; // bytes ever
    std::deque<std::pair<std::uint64_t, Charge>> charges;
    bool open = true;
    int broken = 0; // errno of the write that failed
    bool reading = true;
    bool blocked = false;
    bool flush_posted = false;
};

class StreamTransport final : public Transport {
public:
    StreamTransport(Loop& loop, std::unique_ptr<ByteStream> stream)
        : state_(std::make_shared<StreamState>(loop, std::move(stream))) {}
    ~StreamTransport() override { state_->abandon(); }
    void start(OnMessage on_message, OnClosed on_closed) override {
        state_->start(std::move(on_message), std::move(on_closed));
    }
    void send(Message message) override { state_->send(message); }
    std::size_t backlog() const noexcept override { return state_->backlog(); }
    void flush(std::chrono::nanoseconds limit) noexcept override { state_->flush(limit); }

private:
    std::shared_ptr<StreamState> state_;
};

} // namespace

Transport::~Transport() = default;
ByteStream::~ByteStream() = default;

std::unique_ptr<Transport> make_transport(Loop& loop, std::unique_ptr<ByteStream> stream) {
    return std::make_unique<StreamTransport>(loop, std::move(stream));
}

struct SocketTransport::State : StreamState {
    using StreamState::StreamState;
};

SocketTransport::SocketTransport(Loop& loop, int fd)
    : state_(std::make_shared<State>(loop, std::make_unique<PlainStream>(fd))) {}
SocketTransport::~SocketTransport() { state_->abandon(); }

void SocketTransport::start(OnMessage on_message, OnClosed on_closed) {
    state_->start(std::move(on_message), std::move(on_closed));
}

void SocketTransport::send(Message message) { state_->send(message); }
std::size_t SocketTransport::backlog() const noexcept { return state_->backlog(); }
void SocketTransport::flush(std::chrono::nanoseconds limit) noexcept { state_->flush(limit); }
std::uint64_t SocketTransport::taken() const noexcept { return state_->gone; }
int SocketTransport::fd() const noexcept { return state_->stream->fd(); }

void SocketTransport::read_enable(bool on) noexcept {
    state_->reading = on;
    state_->update();
}

void SocketTransport::on_drained(std::function<void()> callback) { state_->drained = std::move(callback); }

} // namespace flux
