// TLS 1.3 over a connected, non-blocking socket, between two brokers that know each other's public keys. OpenSSL works
// on memory; this moves its bytes. After the TLS handshake each end sends one byte with its verdict on the other's key,
// so that both know of a refusal and both fingerprints.
#pragma once

#include "broker/overlay/link/link_keys.hpp"
#include "libflux/rpc/byte_stream.hpp"

#include <flux/file_descriptor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ssl_st;
struct bio_st;

namespace flux::broker {

class TlsStream final : public ByteStream {
public:
    enum class Side { accepts, connects };

    /// \param expected  the one key that the peer must have; without it any that `keys` trust.
    TlsStream(FileDescriptor socket, std::shared_ptr<const LinkKeys> keys, Side side,
              std::optional<PublicKey> expected = {});
    ~TlsStream() override;
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    /// Go on with the handshake as far as the socket allows. The stream carries nothing before it is done.
    /// \return the directions (FdWatcher) to wait for before the next call, 0 when the link is authenticated
    /// \throws Error EKEYREJECTED when one of the ends does not know the key of the other, EPROTO for a peer that does
    ///         not speak TLS, ECONNRESET when it went away
    int handshake();
    /// The peer's key, after the handshake.
    const PublicKey& peer_key() const noexcept { return peer_key_; }

    int fd() const noexcept override { return socket_.get(); }
    ssize_t receive(char* into, std::size_t size) override;
    ssize_t send(const char* bytes, std::size_t size) override;

private:
    enum class Phase { tls, verdict, done };
    struct Bio;
    struct Free {
        void operator()(ssl_st* session) const noexcept;
    };

    bool negotiate();
    void judge();
    void hear_verdict();
    ssize_t pull(char* chunk, std::size_t size) noexcept;
    bool push() noexcept;
    std::size_t decrypt(char* into, std::size_t size);
    void encrypt(const char* bytes, std::size_t size);
    [[noreturn]] void fail();

    FileDescriptor socket_;
    std::shared_ptr<const LinkKeys> keys_;
    std::optional<PublicKey> expected_;
    PublicKey peer_key_;
    std::unique_ptr<ssl_st, Free> session_;
    Phase phase_ = Phase::tls;
    std::string_view incoming_; ///< came from the socket, not yet taken by OpenSSL
    std::string early_;         ///< of it, what came behind the handshake
    std::string outgoing_;      ///< made by OpenSSL, not yet taken by the socket
    std::size_t outgoing_sent_ = 0;
    std::size_t batch_ = 0;     ///< bytes given to send() that outgoing_ ends with
    std::uint32_t records_ = 0; ///< encrypted with the current key
    bool ended_ = false;        ///< the peer said that it sends no more
};

} // namespace flux::broker
