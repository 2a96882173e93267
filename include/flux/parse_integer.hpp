// Integers written in decimal.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace flux {

/// The number that `text` is, all of it; nothing when it is none or does not fit.
template <std::integral T> std::optional<T> parse_integer(std::string_view text) noexcept {
    T number{};
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

} // namespace flux
