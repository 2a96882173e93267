// Computing blobrefs. Link `flux_hash` for it: libflux itself stays without OpenSSL.
#pragma once

#include <flux/blobref.hpp>

#include <memory>
#include <string_view>

namespace flux {

/// Hashes blobs one after the other. One per thread; making one costs much more than hashing a small blob.
class Hasher {
public:
    /// \throws Error EIO when OpenSSL does not offer the hash.
    explicit Hasher(HashKind kind);
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    ~Hasher();

    HashKind kind() const noexcept { return kind_; }
    /// The reference of a blob with these bytes. \throws Error EIO
    Blobref operator()(std::string_view bytes);

private:
    struct State;
    std::unique_ptr<State> state_;
    HashKind kind_;
};

} // namespace flux
