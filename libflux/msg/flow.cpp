#include <flux/flow.hpp>

#include <atomic>
#include <cstdint>

namespace flux {

struct Flow::State {
    State(std::size_t limit, std::function<void()> on_room) : limit(limit), on_room(std::move(on_room)) {}
    bool room() const noexcept { return bytes.load() <= limit / 2; }

    const std::size_t limit;
    const std::function<void()> on_room;
    std::atomic<std::uint32_t> references{1};
    std::atomic<std::size_t> bytes{0};
    std::atomic<bool> wanted{false};
};

Flow::Flow(std::size_t limit, std::function<void()> on_room) : state_(new State(limit, std::move(on_room))) {}

Flow::Flow(const Flow& other) noexcept : state_(other.state_) {
    if (state_) state_->references.fetch_add(1, std::memory_order_relaxed);
}

Flow::~Flow() {
    if (state_ && state_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete state_;
}

Charge Flow::charge(std::size_t bytes) const noexcept { return Charge(*this, bytes); }
bool Flow::full() const noexcept { return state_->bytes.load() > state_->limit; }

// Either this sees the room, or whoever makes it sees the wish.
bool Flow::wait() const noexcept {
    state_->wanted.store(true);
    return !state_->room() || !state_->wanted.exchange(false);
}

Charge::Charge(Flow flow, std::size_t bytes) noexcept : flow_(std::move(flow)), bytes_(bytes) {
    flow_.state_->bytes.fetch_add(bytes_);
}

Charge::Charge(const Charge& other) noexcept : flow_(other.flow_), bytes_(other.bytes_) {
    if (flow_) flow_.state_->bytes.fetch_add(bytes_);
}

Charge::~Charge() {
    if (!flow_) return;
    auto& state = *flow_.state_;
    state.bytes.fetch_sub(bytes_);
    if (state.wanted.load() && state.room() && state.wanted.exchange(false)) state.on_room();
}

} // namespace flux
