// Flow control of streams: how much of what a sender has sent is still under way, wherever that is.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace flux {

class Charge;

/// The bytes of one stream that are under way, counted by the charges that its messages carry. Copies share it. Any
/// thread.
class Flow {
public:
    Flow() = default;
    /// \param limit    more than this is too much; then there is room again at half of it.
    /// \param on_room  called by whoever makes the room that wait() has asked for.
    Flow(std::size_t limit, std::function<void()> on_room);
    Flow(const Flow& other) noexcept;
    Flow(Flow&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Flow& operator=(Flow other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~Flow();

    explicit operator bool() const noexcept { return state_ != nullptr; }
    Charge charge(std::size_t bytes) const noexcept;
    bool full() const noexcept;
    /// Have `on_room` called once when there is room; false when there is some now: then it is not called.
    bool wait() const noexcept;

private:
    friend class Charge;
    struct State;
    State* state_ = nullptr;
};

/// A message's share of a flow, given back when the last copy of the message is gone.
class Charge {
public:
    Charge() = default;
    Charge(const Charge& other) noexcept;
    Charge(Charge&& other) noexcept : flow_(std::move(other.flow_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge other) noexcept {
        std::swap(flow_, other.flow_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Charge();

    explicit operator bool() const noexcept { return static_cast<bool>(flow_); }

private:
    friend class Flow;
    Charge(Flow flow, std::size_t bytes) noexcept;
    Flow flow_;
    std::size_t bytes_ = 0;
};

} // namespace flux
