// How messages reach a handle: a byte-stream socket, an in-process channel, or a loop back to itself.
#pragma once

#include <flux/loop.hpp>
#include <flux/message.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace flux {

/// One end of a bidirectional, ordered message connection. Used on its loop's thread only.
class Transport {
public:
    using OnMessage = std::function<void(Message)>;
    using OnClosed = std::function<void(const Error&)>;

    virtual ~Transport();
    /// Begin to receive. `on_closed` is called at most once, when the peer went away or broke the protocol (errno
    /// ECONNRESET, EPROTO, ...); both may destroy the transport.
    virtual void start(OnMessage on_message, OnClosed on_closed) = 0;
    /// Queue a message; it leaves as soon as the peer takes it. Dropped when the connection is closed.
    virtual void send(Message message) = 0;
    /// Bytes (or an estimate of them) queued and not yet taken by the peer.
    virtual std::size_t backlog() const noexcept = 0;
    /// A function that any thread may call, as long as it likes, to have this end receive a message; none where nobody
    /// else's thread holds what was sent here.
    virtual std::function<void(Message)> injector() { return {}; }
    /// Block until what was queued is gone, or the peer is, or the limit has passed; for the last words of a process.
    virtual void flush(std::chrono::nanoseconds limit = std::chrono::hours(1)) noexcept { (void)limit; }
};

/// Frames over a connected stream socket. Owns the descriptor.
class SocketTransport final : public Transport {
public:
    SocketTransport(Loop& loop, int fd);
    ~SocketTransport() override;
    void start(OnMessage on_message, OnClosed on_closed) override;
    void send(Message message) override;
    std::size_t backlog() const noexcept override;
    void flush(std::chrono::nanoseconds limit = std::chrono::hours(1)) noexcept override;

    int fd() const noexcept;
    /// Stop or resume reading (back-pressure on the peer).
    void read_enable(bool on) noexcept;
    /// Bytes that the peer has taken so far.
    std::uint64_t taken() const noexcept;
    /// Called whenever the backlog has fallen to zero.
    void on_drained(std::function<void()> callback);

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// The two queues between a module thread and the broker. Create it anywhere, then one ChannelTransport per side, each
/// on its own thread's loop. Messages move by pointer; an eventfd wakes the receiver when its queue was empty.
class Channel {
public:
    enum class Side { broker = 0, module = 1 };
    Channel();
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    /// Put a message into the queue that `to` reads, without a transport. Any thread.
    void put(Side to, Message message);

private:
    friend class ChannelTransport;
    struct Queue;
    std::unique_ptr<Queue> queues_[2];
};

class ChannelTransport final : public Transport {
public:
    using Side = Channel::Side;
    ChannelTransport(Loop& loop, std::shared_ptr<Channel> channel, Side side);
    ~ChannelTransport() override;
    void start(OnMessage on_message, OnClosed on_closed) override;
    void send(Message message) override;
    std::size_t backlog() const noexcept override;
    std::function<void(Message)> injector() override;

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Messages sent come back to the same handle, with the owner's credentials.
class LoopTransport final : public Transport {
public:
    explicit LoopTransport(Loop& loop);
    ~LoopTransport() override;
    void start(OnMessage on_message, OnClosed on_closed) override;
    void send(Message message) override;
    std::size_t backlog() const noexcept override { return 0; }

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Connect to `local://PATH`, `fd://N` or `loop://` (broker.md 2.2), blocking, handshake included.
/// \throws Error ENOENT `broker socket PATH was not found`, EPERM when refused, EINVAL for an unknown URI.
std::unique_ptr<Transport> connect_uri(Loop& loop, const std::string& uri);

} // namespace flux
