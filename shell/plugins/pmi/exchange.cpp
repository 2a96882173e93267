#include "exchange.hpp"

#include <algorithm>
#include <utility>

namespace flux::shell {

PmiExchange::PmiExchange(std::size_t position, std::size_t size, std::size_t fanout)
    : position_(position), fanout_(std::clamp<std::size_t>(fanout, 1, size)) {
    auto first = position * fanout_ + 1;
    for (auto child = first; child < std::min(size, first + fanout_); ++child) children_.push_back(child);
    missing_ = children_.size() + 1;
}

std::optional<pmi::Pairs> PmiExchange::add(pmi::Pairs pairs) {
    pairs_.merge(pairs);
    if (--missing_ > 0) return std::nullopt;
    missing_ = children_.size() + 1;
    return std::exchange(pairs_, {});
}

} // namespace flux::shell
