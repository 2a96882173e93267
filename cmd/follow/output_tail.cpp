#include "cmd/follow/output_tail.hpp"

#include <flux/io_data.hpp>

#include <algorithm>

namespace flux::follow {
namespace {

// A line without its end counts.
std::size_t count_lines(std::string_view data) {
    auto ends = static_cast<std::size_t>(std::count(data.begin(), data.end(), '\n'));
    return ends + !data.ends_with('\n');
}

} // namespace

void OutputTail::add(const EventlogEntry& event) {
    auto io = IoData::decode(event.context);
    if (io.data.empty()) return;
    auto lines = count_lines(io.data);
    pieces_.push_back({event.copy(), lines});
    lines_ += lines;
    while (!pieces_.empty() && lines_ - pieces_.front().lines >= limit_) {
        lines_ -= pieces_.front().lines;
        pieces_.pop_front();
    }
}

std::vector<EventlogEntry> OutputTail::take() {
    std::vector<EventlogEntry> events;
    if (lines_ > limit_) {
        auto& first = pieces_.front().event;
        auto io = IoData::decode(first.context);
        for (; lines_ > limit_; --lines_) io.data.erase(0, io.data.find('\n') + 1);
        first.context = io.encode();
    }
    for (auto& piece : pieces_) events.push_back(std::move(piece.event));
    pieces_.clear();
    lines_ = 0;
    return events;
}

} // namespace flux::follow
