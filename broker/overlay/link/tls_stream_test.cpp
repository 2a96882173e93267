#include "broker/overlay/link/openssl.hpp"
#include "broker/overlay/link/tls_stream.hpp"

#include <catch2/catch.hpp>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include <array>
#include <cerrno>
#include <functional>
#include <poll.h>
#include <sys/socket.h>

using namespace flux;
using namespace flux::broker;
using Catch::Contains;

namespace {

std::array<FileDescriptor, 2> socket_pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

std::shared_ptr<const LinkKeys> trusting(LinkKeys keys, const PublicKey& peer) {
    keys.trust(peer);
    return std::make_shared<LinkKeys>(std::move(keys));
}

/// Two ends of a link after their handshake.
class Pair {
public:
    Pair() {
        auto a = LinkKeys::generate(), b = LinkKeys::generate();
        auto sockets = socket_pair();
        accepts =
            std::make_unique<TlsStream>(std::move(sockets[0]), trusting(a, b.public_key()), TlsStream::Side::accepts);
        connects =
            std::make_unique<TlsStream>(std::move(sockets[1]), trusting(b, a.public_key()), TlsStream::Side::connects);
        for (bool done = false; !done;) {
            bool one = connects->handshake() == 0, other = accepts->handshake() == 0;
            done = one && other;
        }
    }
    std::unique_ptr<TlsStream> accepts, connects;
};

using Context = std::unique_ptr<SSL_CTX, openssl::Free<SSL_CTX_free>>;

/// A key with the public half of one pair and the secret half of another.
openssl::Key forged_key(const PublicKey& shown) {
    std::array<std::uint8_t, 32> secret{};
    std::unique_ptr<OSSL_PARAM_BLD, openssl::Free<OSSL_PARAM_BLD_free>> builder(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, shown.bytes().data(), 32);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret.data(), secret.size());
    std::unique_ptr<OSSL_PARAM, openssl::Free<OSSL_PARAM_free>> params(OSSL_PARAM_BLD_to_param(builder.get()));
    std::unique_ptr<EVP_PKEY_CTX, openssl::Free<EVP_PKEY_CTX_free>> context(
        EVP_PKEY_CTX_new_from_name(nullptr, "ED25519", nullptr));
    EVP_PKEY* key = nullptr;
    REQUIRE(EVP_PKEY_fromdata_init(context.get()) == 1);
    REQUIRE(EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, params.get()) == 1);
    return openssl::Key(key);
}

openssl::Certificate certificate_of(EVP_PKEY* key) {
    openssl::Certificate certificate(X509_new());
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 1000);
    X509_set_pubkey(certificate.get(), key);
    REQUIRE(X509_sign(certificate.get(), key, nullptr) > 0);
    return certificate;
}

/// Let a foreign TLS client meet a listening end of ours. \return how ours ended
Error meet(SSL_CTX* client, std::shared_ptr<const LinkKeys> keys) {
    auto sockets = socket_pair();
    TlsStream ours(std::move(sockets[0]), std::move(keys), TlsStream::Side::accepts);
    openssl::Session session(SSL_new(client));
    SSL_set_fd(session.get(), sockets[1].get());
    SSL_set_connect_state(session.get());
    try {
        for (int turn = 0; turn < 100; ++turn) {
            char byte;
            SSL_read(session.get(), &byte, 1);
            if (ours.handshake() == 0) return Error(EISCONN, "authenticated");
        }
    } catch (const Error& error) {
        return error;
    }
    return Error(ETIMEDOUT, "no verdict");
}

} // namespace

TEST_CASE("TLS: who shows a trusted key must have its secret", "[link]") {
    auto child = LinkKeys::generate();
    auto keys = trusting(LinkKeys::generate(), child.public_key());
    Context client(SSL_CTX_new(TLS_client_method()));
    auto key = forged_key(child.public_key());
    auto certificate = certificate_of(key.get());
    REQUIRE(SSL_CTX_use_certificate(client.get(), certificate.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(client.get(), key.get()) == 1);
    auto error = meet(client.get(), keys);
    CHECK(error.errnum() == EPROTO);
    CHECK_THAT(error.text(), Contains("signature"));
}

TEST_CASE("TLS: peers with no key, another kind of key or an older protocol are refused", "[link]") {
    auto child = LinkKeys::generate();
    auto keys = trusting(LinkKeys::generate(), child.public_key());
    Context client(SSL_CTX_new(TLS_client_method()));
    SECTION("no key") { CHECK_THAT(meet(client.get(), keys).text(), Contains("peer did not return a certificate")); }
    SECTION("another kind of key") {
        openssl::Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
        auto certificate = certificate_of(key.get());
        REQUIRE(SSL_CTX_use_certificate(client.get(), certificate.get()) == 1);
        REQUIRE(SSL_CTX_use_PrivateKey(client.get(), key.get()) == 1);
        CHECK(meet(client.get(), keys).errnum() == EPROTO);
    }
    SECTION("TLS 1.2") {
        SSL_CTX_set_max_proto_version(client.get(), TLS1_2_VERSION);
        CHECK_THAT(meet(client.get(), keys).text(), Contains("unsupported protocol"));
    }
}

TEST_CASE("TLS: keys are renewed on the way", "[link]") {
    Pair pair;
    char byte = 0;
    bool intact = true;
    for (int i = 0; i < 200'000; ++i) {
        auto sent = static_cast<char>(i % 127);
        intact &= pair.connects->send(&sent, 1) == 1;
        intact &= pair.accepts->receive(&byte, 1) == 1 && byte == sent;
    }
    CHECK(intact);
    CHECK(pair.accepts->send("x", 1) == 1);
    CHECK(pair.connects->receive(&byte, 1) == 1);
}

TEST_CASE("TLS: a stream behaves as a socket", "[link]") {
    Pair pair;
    std::string buffer(ByteStream::read_size, '\0');
    CHECK(pair.accepts->receive(buffer.data(), buffer.size()) == -1);
    CHECK(errno == EAGAIN);

    // A full socket takes no more until the peer reads, and what was given is not lost.
    std::string sent, received;
    const std::string piece(100'000, 'a');
    for (;;) {
        auto n = pair.connects->send(piece.data(), piece.size());
        if (n < 0) break;
        sent.append(piece, 0, static_cast<std::size_t>(n));
    }
    CHECK(errno == EAGAIN);
    REQUIRE_FALSE(sent.empty());
    for (ssize_t n = 0; received.size() < sent.size() + SSL3_RT_MAX_PLAIN_LENGTH;) {
        n = pair.accepts->receive(buffer.data(), buffer.size());
        if (n > 0) received.append(buffer, 0, static_cast<std::size_t>(n));
        if (n < 0) REQUIRE(pair.connects->send(piece.data(), piece.size()) > 0);
    }
    CHECK(received.find_first_not_of('a') == std::string::npos);

    pair.connects.reset();
    ssize_t n = 1;
    while (n > 0) n = pair.accepts->receive(buffer.data(), buffer.size());
    CHECK((n == 0 || errno == ECONNRESET));
    CHECK(pair.accepts->send("x", 1) == -1);
    CHECK(errno == EPIPE);
}
