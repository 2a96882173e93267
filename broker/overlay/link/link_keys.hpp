// Whom a broker's tcp:// links trust: its own Ed25519 key and the public keys of its peers. Loads OpenSSL's state, so
// it is made only where tcp:// is used. Used on one thread.
#pragma once

#include "broker/overlay/link/curve_cert.hpp"
#include "broker/overlay/link/public_key.hpp"

#include <memory>
#include <optional>
#include <vector>

struct ssl_ctx_st;

namespace flux::broker {

/// Once shared with listeners and connects it is not changed but replaced.
class LinkKeys {
public:
    /// Of a configured instance, whose brokers all have the same certificate: the key's seed is the certificate's
    /// secret key, and the key itself is trusted. `next`, during a key roll, is trusted besides. \throws Error EINVAL
    /// when the certificate's keys do not belong together
    explicit LinkKeys(const CurveCert& cert, const std::optional<CurveCert>& next = {});
    /// A new key; nobody is trusted yet.
    static LinkKeys generate();

    const PublicKey& public_key() const noexcept { return public_key_; }
    void trust(const PublicKey& peer) { trusted_.push_back(peer); }
    bool trusts(const PublicKey& peer) const noexcept;
    /// Of all trusted keys, for a log: `aa.., bb..`.
    std::string trusted_fingerprints() const;

    ssl_ctx_st* context() const noexcept { return context_.get(); }

private:
    explicit LinkKeys(const CurveCert::Key& seed);

    PublicKey public_key_;
    std::vector<PublicKey> trusted_;
    std::shared_ptr<ssl_ctx_st> context_;
};

} // namespace flux::broker
