// The place of a module by its name: services are registered to it and outlive the running copy. While no copy runs
// (loading, reloading, restarting) it holds requests in order.
#pragma once

#include "broker/host/module_instance.hpp"

#include <deque>
#include <set>

namespace flux::broker {

class ModuleSlot final : public Endpoint {
public:
    // More than this is not held while a module is away: its clients get EAGAIN.
    static constexpr std::size_t max_held = 10'000;
    static constexpr std::size_t max_held_bytes = 64 << 20;

    ModuleSlot(Router& router, ModuleSpec spec)
        : Endpoint("slot:" + spec.name, Kind::local), spec(std::move(spec)), router_(router) {}

    void deliver(Message message) override {
        if (!holding_) {
            // A copy that ends may have had requests open to itself: their disconnects come when it is gone.
            if (instance && instance->takes_requests())
                instance->deliver(std::move(message));
            else
                refuse(message);
            return;
        }
        // Protocols on matchtag 0 start over by hello.
        if (message.matchtag() == matchtag_none && !message.noresponse()) return;
        auto size = size_of(message);
        if (held_.size() >= max_held || held_bytes_ + size > max_held_bytes) {
            router_.fail(message, EAGAIN, "module " + spec.name + " is away and too many requests wait for it");
            return;
        }
        held_bytes_ += size;
        held_.push_back(std::move(message));
    }

    void hold() noexcept { holding_ = true; }
    bool holding() const noexcept { return holding_; }
    /// Put back requests that the old copy had not begun, before those that came later.
    void give_back(std::vector<Message> requests) {
        for (const auto& request : requests) held_bytes_ += size_of(request);
        held_.insert(held_.begin(), std::make_move_iterator(requests.begin()), std::make_move_iterator(requests.end()));
    }
    /// Deliver what was held to the copy that runs now.
    void release() {
        holding_ = false;
        held_bytes_ = 0;
        for (auto& message : std::exchange(held_, {})) instance->deliver(std::move(message));
    }
    /// No copy will come: answer what was held as if the service were not there.
    void refuse() {
        for (auto& message : std::exchange(held_, {})) refuse(message);
    }

    ModuleSpec spec;
    std::unique_ptr<ModuleInstance> instance;
    std::set<std::string> services;                           ///< added by service.add, besides its own name
    std::set<std::string> re_added;                           ///< of these, added again by the copy that is starting
    bool busy = false;                                        ///< being loaded, reloaded or removed
    Condition idle;                                           ///< notified when that is over
    std::deque<std::chrono::steady_clock::time_point> deaths; ///< of its process, in the last minute

private:
    static std::size_t size_of(const Message& message) { return message.payload.bytes().size() + message.topic.size(); }
    void refuse(const Message& request) {
        router_.fail(request, ENOSYS, "No service matching " + request.topic + " is registered");
    }

    Router& router_;
    bool holding_ = true;
    std::deque<Message> held_;
    std::size_t held_bytes_ = 0;
};

} // namespace flux::broker
