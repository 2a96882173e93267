#include <flux/base64.hpp>
#include <flux/error.hpp>

#include <array>
#include <cerrno>
#include <cstdint>

namespace flux {
namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto values = [] {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (int i = 0; i < 64; ++i) table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    return table;
}();

} // namespace

std::string base64_encode(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4, '=');
    char* out = text.data();
    std::size_t i = 0;
    auto at = [&](std::size_t n) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[n])); };
    for (; i + 3 <= bytes.size(); i += 3, out += 4) {
        std::uint32_t group = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
        for (int k = 0; k < 4; ++k) out[k] = alphabet[group >> (18 - 6 * k) & 63];
    }
    if (auto rest = bytes.size() - i; rest > 0) {
        std::uint32_t group = at(i) << 16 | (rest == 2 ? at(i + 1) << 8 : 0);
        for (std::size_t k = 0; k <= rest; ++k) out[k] = alphabet[group >> (18 - 6 * k) & 63];
    }
    return text;
}

std::string base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) throw Error(EPROTO, "base64: length is not a multiple of 4");
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        bool last = i + 4 == text.size();
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            bool pad = last && k >= 4 - padding;
            auto value = pad ? 0 : values[static_cast<unsigned char>(text[i + k])];
            if (value < 0) throw Error(EPROTO, "base64: invalid character at offset " + std::to_string(i + k));
            group = group << 6 | static_cast<std::uint32_t>(value);
        }
        std::size_t count = last ? 3 - padding : 3;
        if (group & ((1u << (8 * (3 - count))) - 1)) throw Error(EPROTO, "base64: trailing bits are not 0");
        for (std::size_t k = 0; k < count; ++k) bytes.push_back(static_cast<char>(group >> (16 - 8 * k)));
    }
    return bytes;
}

} // namespace flux
