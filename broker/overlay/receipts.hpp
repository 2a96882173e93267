// Flow control across a link: a message of a stream counts with its sender until the other broker, too, has passed it
// on. Both ends number the messages of streams as they pass; the receiving one says which it is rid of.
#pragma once

#include <flux/message.hpp>

#include <cstdint>
#include <functional>
#include <unordered_map>

namespace flux::broker {

class Receipts {
public:
    /// \param on_gone  told, on any thread, the number of a received message that is gone from this broker.
    explicit Receipts(std::function<void(std::uint32_t number)> on_gone) : on_gone_(std::move(on_gone)) {}

    /// A message goes out: keep its charge.
    void sent(const Message& message) {
        if (!counts(message)) return;
        ++sent_;
        if (message.charge) charges_.insert_or_assign(sent_, message.charge);
    }
    /// The other end is rid of it.
    void gone(std::uint32_t number) { charges_.erase(number); }
    /// A message came in: give it a charge that tells its end.
    void received(Message& message) {
        if (!counts(message)) return;
        Flow flow(0, [on_gone = on_gone_, number = ++received_] { on_gone(number); });
        message.charge = flow.charge(1);
        flow.wait();
    }

private:
    static bool counts(const Message& message) noexcept {
        return message.type == MessageType::response && message.streaming() && message.errnum() == 0;
    }

    std::function<void(std::uint32_t)> on_gone_;
    std::uint32_t sent_ = 0, received_ = 0;
    std::unordered_map<std::uint32_t, Charge> charges_;
};

} // namespace flux::broker
