#include "broker/overlay/link/tls_stream.hpp"

#include "broker/overlay/link/openssl.hpp"

#include <flux/loop.hpp>

#include <fmt/core.h>
#include <openssl/bio.h>

#include <algorithm>
#include <sys/socket.h>

namespace flux::broker {
namespace {

// A record on the wire with all that belongs to it.
constexpr std::size_t record_limit = SSL3_RT_MAX_ENCRYPTED_LENGTH + SSL3_RT_HEADER_LENGTH;
// A partial record that waits inside and what comes on top must fit what the caller of receive() offers.
constexpr std::size_t chunk_size = ByteStream::read_size - record_limit;
// The handshake takes less than this in one go.
constexpr std::size_t handshake_chunk_size = 4096;
// Encrypted together and given to the socket at once: four full records.
constexpr std::size_t batch_limit = 4 * SSL3_RT_MAX_PLAIN_LENGTH;
// A key may encrypt 2^24.5 records (RFC 8446 5.5); a new one costs less than a hundredth of what these few take.
constexpr std::uint32_t records_per_key = 1 << 16;

// The verdict of one end on the key of the other.
enum Verdict : char { trusted = 0, not_trusted = 1 };

} // namespace

// OpenSSL's view of the connection.
struct TlsStream::Bio {
    static int read(BIO* bio, char* into, int size) {
        auto& incoming = static_cast<TlsStream*>(BIO_get_data(bio))->incoming_;
        BIO_clear_retry_flags(bio);
        if (incoming.empty()) {
            BIO_set_retry_read(bio);
            return -1;
        }
        auto n = incoming.copy(into, static_cast<std::size_t>(size));
        incoming.remove_prefix(n);
        return static_cast<int>(n);
    }
    static int write(BIO* bio, const char* bytes, int size) {
        static_cast<TlsStream*>(BIO_get_data(bio))->outgoing_.append(bytes, static_cast<std::size_t>(size));
        return size;
    }
    static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH; }

    static const BIO_METHOD* method() {
        static const BIO_METHOD* const made = [] {
            auto* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "overlay link");
            openssl::check(method && BIO_meth_set_read(method, &read) && BIO_meth_set_write(method, &write) &&
                               BIO_meth_set_ctrl(method, &control),
                           "BIO");
            return method;
        }();
        return made;
    }
};

void TlsStream::Free::operator()(ssl_st* session) const noexcept { SSL_free(session); }

TlsStream::TlsStream(FileDescriptor socket, std::shared_ptr<const LinkKeys> keys, Side side,
                     std::optional<PublicKey> expected)
    : socket_(std::move(socket)),
      keys_(std::move(keys)),
      expected_(std::move(expected)),
      session_(SSL_new(keys_->context())) {
    auto* bio = BIO_new(Bio::method());
    openssl::check(session_ && bio, "session");
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);
    if (side == Side::accepts)
        SSL_set_accept_state(session_.get());
    else
        SSL_set_connect_state(session_.get());
}

TlsStream::~TlsStream() = default;

// Handshake -----------------------------------------------------------------------------------------------------

int TlsStream::handshake() {
    char chunk[handshake_chunk_size];
    for (;;) {
        if (phase_ == Phase::tls && negotiate()) judge();
        if (phase_ == Phase::verdict) hear_verdict();
        const int unsent = push() ? 0 : FdWatcher::writable;
        if (phase_ == Phase::done) return unsent;
        ssize_t n = pull(chunk, sizeof chunk);
        if (n == 0) throw Error(ECONNRESET, "the peer closed the connection during the handshake");
        if (n > 0) continue;
        if (errno == EAGAIN || errno == EINTR) return FdWatcher::readable | unsent;
        throw Error(errno, fmt::format("handshake: {}", errno_text(errno)));
    }
}

bool TlsStream::negotiate() {
    ERR_clear_error();
    int rc = SSL_do_handshake(session_.get());
    if (rc == 1) return true;
    if (SSL_get_error(session_.get(), rc) != SSL_ERROR_WANT_READ) fail();
    return false;
}

void TlsStream::judge() {
    PublicKey::Bytes bytes{};
    auto size = bytes.size();
    auto* key = X509_get0_pubkey(SSL_get0_peer_certificate(session_.get()));
    openssl::check(key && EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) == 1 && size == bytes.size(),
                   "the peer's key");
    peer_key_ = PublicKey(bytes);
    bool good = expected_ ? peer_key_ == *expected_ : keys_->trusts(peer_key_);
    const char verdict = good ? trusted : not_trusted;
    encrypt(&verdict, 1);
    if (!good) {
        push();
        throw Error(EKEYREJECTED,
                    fmt::format("wrong key: the peer has {}, trusted: {}, own key: {}", peer_key_.fingerprint(),
                                expected_ ? expected_->fingerprint() : keys_->trusted_fingerprints(),
                                keys_->public_key().fingerprint()));
    }
    phase_ = Phase::verdict;
}

void TlsStream::hear_verdict() {
    char verdict;
    if (decrypt(&verdict, 1) == 0) {
        if (ended_) throw Error(ECONNRESET, "the peer closed the connection during the handshake");
        return;
    }
    if (verdict != trusted)
        throw Error(EKEYREJECTED, fmt::format("wrong key: the peer does not trust own key {}, it has {}",
                                              keys_->public_key().fingerprint(), peer_key_.fingerprint()));
    phase_ = Phase::done;
    early_ = incoming_;
    incoming_ = early_;
}

// Data ----------------------------------------------------------------------------------------------------------

ssize_t TlsStream::receive(char* into, std::size_t size) {
    std::size_t got = 0;
    if (!incoming_.empty() || SSL_has_pending(session_.get())) got = decrypt(into, size); // came with the handshake
    if (got == 0 && !ended_) {
        char chunk[chunk_size];
        early_ = {};
        ssize_t n = pull(chunk, sizeof chunk);
        if (n <= 0) return n;
        got = decrypt(into, size);
    }
    if (got == 0 && !ended_) {
        errno = EAGAIN;
        return -1;
    }
    return static_cast<ssize_t>(got);
}

ssize_t TlsStream::send(const char* bytes, std::size_t size) {
    if (batch_ == 0) {
        batch_ = std::min(size, batch_limit);
        encrypt(bytes, batch_);
    }
    if (!push()) return -1;
    return static_cast<ssize_t>(std::exchange(batch_, 0));
}

ssize_t TlsStream::pull(char* chunk, std::size_t size) noexcept {
    ssize_t n = ::recv(fd(), chunk, size, MSG_DONTWAIT);
    if (n > 0) incoming_ = std::string_view(chunk, static_cast<std::size_t>(n));
    return n;
}

// False when not all could be sent; errno tells why.
bool TlsStream::push() noexcept {
    while (outgoing_sent_ < outgoing_.size()) {
        ssize_t n = ::send(fd(), outgoing_.data() + outgoing_sent_, outgoing_.size() - outgoing_sent_,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) return false;
        outgoing_sent_ += static_cast<std::size_t>(n);
    }
    outgoing_.clear();
    outgoing_sent_ = 0;
    if (outgoing_.capacity() > record_limit) outgoing_.shrink_to_fit(); // links are many and mostly idle
    return true;
}

std::size_t TlsStream::decrypt(char* into, std::size_t size) {
    std::size_t got = 0;
    ERR_clear_error();
    while (got < size && !ended_) {
        std::size_t n = 0;
        if (SSL_read_ex(session_.get(), into + got, size - got, &n) == 1) {
            got += n;
            // Less than asked for is the end of a record; without more bytes the next would be in vain.
            if (got < size && incoming_.empty()) return got;
            continue;
        }
        switch (SSL_get_error(session_.get(), 0)) {
        case SSL_ERROR_WANT_READ: return got;
        case SSL_ERROR_ZERO_RETURN: ended_ = true; break;
        default: fail();
        }
    }
    return got;
}

void TlsStream::encrypt(const char* bytes, std::size_t size) {
    ERR_clear_error();
    if (records_ >= records_per_key) {
        openssl::check(SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1, "key update");
        records_ = 0;
    }
    std::size_t n = 0;
    if (SSL_write_ex(session_.get(), bytes, size, &n) != 1) fail();
    records_ += static_cast<std::uint32_t>(1 + size / SSL3_RT_MAX_PLAIN_LENGTH);
}

// The peer is told, as far as that goes without waiting.
void TlsStream::fail() {
    auto text = fmt::format("TLS: {}", openssl::reason());
    push();
    throw Error(EPROTO, text);
}

} // namespace flux::broker
