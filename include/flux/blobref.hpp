// References to blobs of the content store: the hash of their bytes (RFC 10).
#pragma once

#include <flux/json.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flux {

enum class HashKind : std::uint8_t { sha1, sha256 };

/// `sha1`, `sha256`
std::string_view name_of(HashKind kind) noexcept;
/// \throws Error EINVAL naming the text.
HashKind parse_hash_kind(std::string_view name);
constexpr std::size_t digest_size(HashKind kind) noexcept { return kind == HashKind::sha1 ? 20 : 32; }

/// A blob's hash: `sha1-` or `sha256-` and the digest in lower-case hex. To compute one, see flux/hash.hpp.
class Blobref {
public:
    static constexpr const char* json_name = "blobref";
    static constexpr std::size_t max_digest = 32;

    /// The sha1 reference of all zeros, which names no blob.
    Blobref() = default;
    /// \param digest  raw bytes. \throws Error EINVAL when there are too many or too few.
    Blobref(HashKind kind, std::string_view digest);

    /// Read a text; takes upper-case digits too. \throws Error EINVAL
    static Blobref parse(std::string_view text);
    /// As parse(), for texts that may well be something else.
    static std::optional<Blobref> try_parse(std::string_view text) noexcept;
    /// Whether a text is a blobref as to_string() writes it: lower case only.
    static bool is_valid(std::string_view text) noexcept;

    std::string to_string() const;
    HashKind kind() const noexcept { return kind_; }
    /// The raw bytes, borrowed from this object.
    std::string_view digest() const& noexcept { return {digest_.data(), digest_size(kind_)}; }
    void digest() const&& = delete;

    auto operator<=>(const Blobref&) const = default;
    operator Json() const { return Json(to_string()); }

private:
    std::array<char, max_digest> digest_{}; // unused bytes are zero
    HashKind kind_ = HashKind::sha1;
};

/// For `JsonView::get<Blobref>`: a string that parses.
bool json_decode(JsonView value, Blobref& out) noexcept;

} // namespace flux

template <> struct std::hash<flux::Blobref> {
    std::size_t operator()(const flux::Blobref& blobref) const noexcept {
        std::size_t bits; // the digest is a good hash already
        std::memcpy(&bits, blobref.digest().data(), sizeof(bits));
        return bits;
    }
};
