// The last lines of a job's output that is there already.
#pragma once

#include <flux/eventlog.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace flux::follow {

class OutputTail {
public:
    explicit OutputTail(std::size_t lines) : limit_(lines) {}
    /// Take a `data` event. \throws Error EPROTO when it is malformed.
    void add(const EventlogEntry& event);
    /// Events with the last lines, in order; the tail is empty then.
    std::vector<EventlogEntry> take();

private:
    struct Piece {
        EventlogEntry event;
        std::size_t lines;
    };
    std::size_t limit_;
    std::size_t lines_ = 0;
    std::deque<Piece> pieces_;
};

} // namespace flux::follow
