// What has become of a peer whose link has ended without a goodbye. Both ends judge by the same rule.
#pragma once

#include <flux/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

namespace flux::broker {

/// Its kernel did not answer any more, so the node or the way to it is lost. Else the broker alone has ended.
inline bool is_node_lost(const Error& end) noexcept {
    constexpr std::array silences{ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN};
    return std::find(silences.begin(), silences.end(), end.errnum()) != silences.end();
}

inline std::string verdict(const Error& end) {
    return (is_node_lost(end) ? "node lost: " : "lost connection: ") + std::string(end.what());
}

} // namespace flux::broker
