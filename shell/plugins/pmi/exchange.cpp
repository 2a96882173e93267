#include "exchange.hpp"

#include <algorithm>
#include <utility>

namespace flux::shell {

PmiExchange::PmiExchange(std::size_t position, std::size_t size, std::size_t fanout)
    : position_(position), fanout_(std::clamp<std::size_t>(fanout, 1, size)) {
    auto first = position * fanout_ + 1;
    auto end = std::min(size, first + fanout_);
    missing_ = expected_ = 1 + (end > first ? end - first : 0);
}

std::optional<pmi::Pairs> PmiExchange::add(pmi::Pairs pairs) {
    pairs_.merge(pairs);
    if (--missing_ > 0) return std::nullopt;
    missing_ = expected_;
    return std::exchange(pairs_, {});
}

} // namespace flux::shell
