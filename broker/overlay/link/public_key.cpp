#include "broker/overlay/link/public_key.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <charconv>

namespace flux::broker {
namespace {

constexpr std::size_t fingerprint_size = 16;

} // namespace

PublicKey PublicKey::parse(std::string_view text) {
    Bytes bytes;
    auto fail = [&] { throw Error(EINVAL, fmt::format("a public key has {} hexadecimal digits", 2 * bytes.size())); };
    if (text.size() != 2 * bytes.size()) fail();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const char* digits = text.data() + 2 * at;
        auto [end, failure] = std::from_chars(digits, digits + 2, bytes[at], 16);
        if (failure != std::errc() || end != digits + 2) fail();
    }
    return PublicKey(bytes);
}

std::string PublicKey::to_string() const {
    std::string text;
    for (auto byte : bytes_) text += fmt::format("{:02x}", byte);
    return text;
}

std::string PublicKey::fingerprint() const { return to_string().substr(0, fingerprint_size); }

} // namespace flux::broker
