#include <flux/blobref.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace flux {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// Value of a hex digit, or -1.
int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::optional<HashKind> hash_kind(std::string_view name) {
    for (auto kind : {HashKind::sha1, HashKind::sha256})
        if (name == name_of(kind)) return kind;
    return std::nullopt;
}

} // namespace

std::string_view name_of(HashKind kind) noexcept { return kind == HashKind::sha1 ? "sha1" : "sha256"; }

HashKind parse_hash_kind(std::string_view name) {
    if (auto kind = hash_kind(name)) return *kind;
    throw Error(EINVAL, fmt::format("unknown hash '{}'", name));
}

Blobref::Blobref(HashKind kind, std::string_view digest) : kind_(kind) {
    if (digest.size() != digest_size(kind))
        throw Error(EINVAL,
                    fmt::format("a {} digest has {} bytes, not {}", name_of(kind), digest_size(kind), digest.size()));
    std::copy(digest.begin(), digest.end(), digest_.begin());
}

std::optional<Blobref> Blobref::try_parse(std::string_view text) noexcept {
    auto dash = text.find('-');
    if (dash == text.npos) return std::nullopt;
    auto kind = hash_kind(text.substr(0, dash));
    auto hex = text.substr(dash + 1);
    if (!kind || hex.size() != 2 * digest_size(*kind)) return std::nullopt;
    Blobref result;
    result.kind_ = *kind;
    for (std::size_t at = 0; at < hex.size(); at += 2) {
        auto high = hex_value(hex[at]), low = hex_value(hex[at + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        result.digest_[at / 2] = static_cast<char>(high << 4 | low);
    }
    return result;
}

Blobref Blobref::parse(std::string_view text) {
    if (auto blobref = try_parse(text)) return *blobref;
    throw Error(EINVAL, fmt::format("invalid blobref '{}'", text));
}

bool Blobref::is_valid(std::string_view text) noexcept {
    return try_parse(text) && std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
}

std::string Blobref::to_string() const {
    std::string text(name_of(kind_));
    text.reserve(text.size() + 1 + 2 * digest_size(kind_));
    text += '-';
    for (auto c : digest()) {
        auto byte = static_cast<unsigned char>(c);
        text += hex_digits[byte >> 4];
        text += hex_digits[byte & 15];
    }
    return text;
}

bool json_decode(JsonView value, Blobref& out) noexcept {
    auto text = value.try_as<std::string_view>();
    auto blobref = text ? Blobref::try_parse(*text) : std::nullopt;
    if (blobref) out = *blobref;
    return blobref.has_value();
}

} // namespace flux
