// In-process transports: the channel between a module thread and the broker, and the loop back to oneself.
#include <flux/transport.hpp>

#include <cerrno>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vector>

namespace flux {

// One direction. `messages` is the only thing that two threads touch.
struct Channel::Queue {
    Queue() : event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (event < 0) throw Error(errno, "eventfd");
    }
    ~Queue() { ::close(event); }

    void put(Message message) {
        bool was_empty;
        {
            std::lock_guard lock(mutex);
            was_empty = messages.empty();
            messages.push_back(std::move(message));
        }
        if (was_empty) ::eventfd_write(event, 1);
    }
    std::vector<Message> take() {
        eventfd_t count;
        ::eventfd_read(event, &count);
        std::lock_guard lock(mutex);
        return std::exchange(messages, {});
    }

    int event;
    std::mutex mutex;
    std::vector<Message> messages;
};

Channel::Channel() {
    for (auto& queue : queues_) queue = std::make_unique<Queue>();
}
Channel::~Channel() = default;
void Channel::put(Side to, Message message) { queues_[static_cast<int>(to)]->put(std::move(message)); }

struct ChannelTransport::State : std::enable_shared_from_this<ChannelTransport::State> {
    std::shared_ptr<Channel> channel;
    Channel::Queue* in = nullptr;
    Channel::Queue* out = nullptr;
    Loop& loop;
    OnMessage on_message;
    std::unique_ptr<FdWatcher> watcher;
    Side side;
    State(Loop& loop, Side side) : loop(loop), side(side) {}
};

ChannelTransport::ChannelTransport(Loop& loop, std::shared_ptr<Channel> channel, Side side)
    : state_(std::make_shared<State>(loop, side)) {
    auto own = static_cast<int>(side);
    state_->in = channel->queues_[own].get();
    state_->out = channel->queues_[1 - own].get();
    state_->channel = std::move(channel);
}

ChannelTransport::~ChannelTransport() { state_->watcher.reset(); }

void ChannelTransport::start(OnMessage on_message, OnClosed) {
    state_->on_message = std::move(on_message);
    state_->watcher = std::make_unique<FdWatcher>(state_->loop, state_->in->event, [state = state_.get()](int) {
        auto self = state->shared_from_this();
        for (auto& message : self->in->take()) {
            if (!self->watcher) return; // destroyed by what it received
            self->on_message(std::move(message));
        }
    });
    state_->watcher->watch(FdWatcher::readable);
}

void ChannelTransport::send(Message message) { state_->out->put(std::move(message)); }

std::size_t ChannelTransport::backlog() const noexcept {
    std::lock_guard lock(state_->out->mutex);
    return state_->out->messages.size();
}

std::function<void(Message)> ChannelTransport::injector() {
    return
        [channel = state_->channel, side = state_->side](Message message) { channel->put(side, std::move(message)); };
}

struct LoopTransport::State {
    Loop& loop;
    OnMessage on_message;
};

LoopTransport::LoopTransport(Loop& loop) : state_(std::make_shared<State>(State{loop, {}})) {}
LoopTransport::~LoopTransport() { state_->on_message = nullptr; }
void LoopTransport::start(OnMessage on_message, OnClosed) { state_->on_message = std::move(on_message); }

void LoopTransport::send(Message message) {
    if (message.credentials.userid == userid_unknown) message.credentials.userid = ::getuid();
    if (message.credentials.rolemask == role_none) message.credentials.rolemask = role_owner | role_local;
    // The loop's queue takes copyable work, and a message is cheap to share.
    auto shared = std::make_shared<Message>(std::move(message));
    state_->loop.post([state = state_, shared] {
        if (state->on_message) state->on_message(std::move(*shared));
    });
}

} // namespace flux
