// The newest events, kept for children that missed some of them while their link was broken. Pure.
#pragma once

#include <flux/message.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace flux::broker {

class EventRing {
public:
    // Enough for a break of seconds on a busy instance; a child that missed more starts over.
    static constexpr std::size_t max_count = 1024, max_bytes = 1 << 20;

    void add(const Message& event) {
        if (!events_.empty() && event.sequence() != events_.back().sequence() + 1) clear();
        bytes_ += weight(event);
        events_.push_back(event);
        while (events_.size() > max_count || bytes_ > max_bytes) {
            bytes_ -= weight(events_.front());
            events_.pop_front();
        }
    }
    /// True when every event from `sequence` + 1 to `newest` is here.
    bool covers(std::uint32_t sequence, std::uint32_t newest) const noexcept {
        if (sequence == newest) return true;
        return !events_.empty() && events_.front().sequence() <= sequence + 1 && events_.back().sequence() == newest;
    }
    template <class F> void for_each_after(std::uint32_t sequence, F&& visit) const {
        for (const auto& event : events_) {
            if (event.sequence() > sequence) visit(event);
        }
    }
    void clear() noexcept {
        events_.clear();
        bytes_ = 0;
    }

private:
    static std::size_t weight(const Message& event) {
        return sizeof event + event.topic.size() + event.payload.bytes().size();
    }
    std::deque<Message> events_;
    std::size_t bytes_ = 0;
};

} // namespace flux::broker
