// One connection to a peer broker, an endpoint of the router once its hello is done. Runs on the broker's loop.
#pragma once

#include "broker/overlay/may_repeat.hpp"
#include "broker/overlay/receipts.hpp"
#include "broker/router/router.hpp"
#include "broker/router/rpc_tracker.hpp"

#include <flux/transport.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace flux::broker {

/// Types of control messages, which never leave a link.
enum ControlType : std::uint32_t {
    control_heartbeat = 0,  ///< up: the sender is alive; sent when there was nothing else to send
    control_status = 1,     ///< up; status: SubtreeStatus of the sender
    control_disconnect = 2, ///< down: leave
    control_gone = 3,       ///< status: number of a message of a stream, see Receipts
    control_path = 4,       ///< down; status: 0 the way to the leader is open, else 1 + the rank that is out of reach
    control_hold = 5,       ///< down: the sender goes and will be back
};

class Link final : public Endpoint {
public:
    using Injector = std::function<void(Message)>;

    /// \param number     of this link among those of this broker.
    /// \param on_gone    takes, on any thread, `control(number, message)` for a message of a stream that has left here.
    Link(std::uint32_t number, Kind kind, std::unique_ptr<Transport> transport, Injector on_gone)
        : Endpoint("", kind),
          number(number),
          receipts([on_gone = std::move(on_gone), number](std::uint32_t message) {
              on_gone(Message::control(number, message));
          }),
          transport_(std::move(transport)) {}
    void start(std::function<void(Link&, Message)> on_message, std::function<void(Link&, const Error&)> on_closed) {
        transport_->start(
            [this, on_message = std::move(on_message)](Message message) { on_message(*this, std::move(message)); },
            [this, on_closed = std::move(on_closed)](const Error& error) { on_closed(*this, error); });
    }

    void deliver(Message message) override {
        if (message.type == MessageType::request) tracker.sent(message, repeats && may_repeat(message));
        if (message.type == MessageType::response) answered(message);
        receipts.sent(message);
        send(std::move(message));
    }
    /// A message of the link itself, not of those that use it.
    void send(Message message) {
        last_sent = std::chrono::steady_clock::now();
        transport_->send(std::move(message));
    }
    void set_uuid(std::string uuid) { uuid_ = std::move(uuid); }
    void flush(std::chrono::nanoseconds limit) noexcept { transport_->flush(limit); }

    const std::uint32_t number;
    std::uint32_t rank = nodeid_any;
    std::string peer;                      ///< where it came from, for texts
    bool joined = false;                   ///< hello is done
    bool repeats = false;                  ///< what is lost with this link may be sent again over the next one
    RpcTracker asked;                      ///< what the peer has asked that must not get lost with this broker
    std::function<void()> on_all_answered; ///< of those
    RpcTracker tracker;
    Receipts receipts;
    std::chrono::steady_clock::time_point last_sent{}, last_received = std::chrono::steady_clock::now();

private:
    void answered(const Message& response) {
        if (asked.size() == 0) return;
        asked.answered(response);
        if (asked.size() == 0 && on_all_answered) on_all_answered();
    }
    std::unique_ptr<Transport> transport_;
};

} // namespace flux::broker
