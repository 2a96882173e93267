#include "broker/overlay/link/link_keys.hpp"

#include "broker/overlay/link/openssl.hpp"

#include <openssl/rand.h>

#include <algorithm>

namespace flux::broker {
namespace {

openssl::Key ed25519_key(const CurveCert::Key& seed) {
    openssl::Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
    openssl::check(key != nullptr, "Ed25519 key");
    return key;
}

PublicKey::Bytes public_bytes(const EVP_PKEY* key) {
    PublicKey::Bytes bytes;
    auto size = bytes.size();
    openssl::check(EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) == 1 && size == bytes.size(), "public key");
    return bytes;
}

PublicKey public_key_of(const CurveCert& cert) {
    openssl::Key curve(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, cert.secret_key.data(), cert.secret_key.size()));
    openssl::check(curve != nullptr, "X25519 key");
    if (public_bytes(curve.get()) != cert.public_key)
        throw Error(EINVAL, "certificate: public-key and secret-key do not belong together");
    return PublicKey(public_bytes(ed25519_key(cert.secret_key).get()));
}

// TLS wants keys in certificates; of this one nothing but the key is ever looked at.
openssl::Certificate wrap(EVP_PKEY* key) {
    openssl::Certificate certificate(X509_new());
    openssl::check(certificate && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                       ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1) == 1 &&
                       ASN1_TIME_set_string(X509_getm_notBefore(certificate.get()), "19700101000000Z") == 1 &&
                       ASN1_TIME_set_string(X509_getm_notAfter(certificate.get()), "99991231235959Z") == 1 &&
                       X509_set_pubkey(certificate.get(), key) == 1 && X509_sign(certificate.get(), key, nullptr) > 0,
                   "certificate");
    return certificate;
}

// Every certificate passes: the verdict on its key is TlsStream's, which tells it to both ends.
int accept_certificate(X509_STORE_CTX*, void*) { return 1; }

std::shared_ptr<SSL_CTX> make_context(EVP_PKEY* key) {
    std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
    openssl::check(context != nullptr, "context");
    auto* raw = context.get();
    auto certificate = wrap(key);
    openssl::check(SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1 &&
                       SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) == 1 &&
                       SSL_CTX_set_ciphersuites(raw, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1 &&
                       SSL_CTX_set1_groups_list(raw, "X25519") == 1 && SSL_CTX_set1_sigalgs_list(raw, "ed25519") == 1 &&
                       SSL_CTX_set_num_tickets(raw, 0) == 1 && SSL_CTX_use_certificate(raw, certificate.get()) == 1 &&
                       SSL_CTX_use_PrivateKey(raw, key) == 1,
                   "context");
    SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(raw, SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_cert_verify_callback(raw, &accept_certificate, nullptr);
    return context;
}

} // namespace

LinkKeys::LinkKeys(const CurveCert::Key& seed) {
    auto key = ed25519_key(seed);
    public_key_ = PublicKey(public_bytes(key.get()));
    context_ = make_context(key.get());
}

LinkKeys::LinkKeys(const CurveCert& cert, const std::optional<CurveCert>& next) : LinkKeys(cert.secret_key) {
    trust(public_key_of(cert));
    if (next) trust(public_key_of(*next));
}

LinkKeys LinkKeys::generate() {
    CurveCert::Key seed;
    openssl::check(RAND_priv_bytes(seed.data(), static_cast<int>(seed.size())) == 1, "random bytes");
    LinkKeys keys(seed);
    OPENSSL_cleanse(seed.data(), seed.size());
    return keys;
}

bool LinkKeys::trusts(const PublicKey& peer) const noexcept {
    return std::find(trusted_.begin(), trusted_.end(), peer) != trusted_.end();
}

std::string LinkKeys::trusted_fingerprints() const {
    std::string text;
    for (const auto& key : trusted_) text += (text.empty() ? "" : ", ") + key.fingerprint();
    return text;
}

} // namespace flux::broker
