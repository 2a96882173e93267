// What a broker tells the others of itself, as it goes through PMI (broker.md 7.5). Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flux::broker {

class BusinessCard {
public:
    BusinessCard() {}
    /// \throws Error EPROTO
    static BusinessCard parse(std::string_view text);
    std::string to_string() const;

    std::string host;
    std::string public_key;        ///< of its tcp:// links; empty in a configured instance, where all have the same
    std::vector<std::string> uris; ///< where it listens; tcp first
};

} // namespace flux::broker
