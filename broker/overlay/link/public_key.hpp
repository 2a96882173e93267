// The Ed25519 public key by which a broker is known to its peers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace flux::broker {

class PublicKey {
public:
    using Bytes = std::array<std::uint8_t, 32>;

    PublicKey() = default;
    explicit PublicKey(const Bytes& bytes) noexcept : bytes_(bytes) {}
    /// From the text of a business card. \throws Error EINVAL
    static PublicKey parse(std::string_view text);

    const Bytes& bytes() const noexcept { return bytes_; }
    /// 64 hexadecimal digits.
    std::string to_string() const;
    /// Enough of it to tell keys apart in a log.
    std::string fingerprint() const;
    bool operator==(const PublicKey&) const = default;

private:
    Bytes bytes_{};
};

} // namespace flux::broker
