#include "cmd/keygen/key_pair.hpp"

#include <flux/error.hpp>

#include <openssl/evp.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace flux::keygen {
namespace {

struct Free {
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};

constexpr std::size_t key_size = 32;

std::string raw(const EVP_PKEY* key, int (*get)(const EVP_PKEY*, unsigned char*, std::size_t*)) {
    std::string bytes(key_size, '\0');
    auto size = bytes.size();
    if (get(key, reinterpret_cast<unsigned char*>(bytes.data()), &size) != 1 || size != key_size)
        throw Error(EIO, "cannot read the generated key");
    return bytes;
}

} // namespace

KeyPair KeyPair::generate() {
    std::unique_ptr<EVP_PKEY, Free> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
    if (!key) throw Error(EIO, "cannot generate a key");
    KeyPair pair;
    pair.public_key = raw(key.get(), &EVP_PKEY_get_raw_public_key);
    pair.secret_key = raw(key.get(), &EVP_PKEY_get_raw_private_key);
    return pair;
}

std::string z85_encode(std::string_view bytes) {
    constexpr std::string_view digits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    constexpr std::uint32_t base = 85;
    static_assert(digits.size() == base);
    std::string text;
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
        std::uint32_t number = 0;
        for (std::size_t index = 0; index < 4; ++index)
            number = number << 8 | static_cast<unsigned char>(bytes[at + index]);
        for (std::uint32_t divisor = base * base * base * base; divisor; divisor /= base)
            text += digits[number / divisor % base];
    }
    return text;
}

} // namespace flux::keygen
