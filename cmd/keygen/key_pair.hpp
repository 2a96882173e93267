// Keys of Curve25519, in the notation of ZeroMQ certificates.
#pragma once

#include <string>
#include <string_view>

namespace flux::keygen {

class KeyPair {
public:
    /// A new pair. \throws Error
    static KeyPair generate();

    std::string public_key; ///< 32 bytes each
    std::string secret_key;
};

/// Z85 (ZeroMQ RFC 32) of bytes whose number is a multiple of 4.
std::string z85_encode(std::string_view bytes);

} // namespace flux::keygen
