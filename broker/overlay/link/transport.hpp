// The transports of overlay links: `ipc://` between processes of one user, `tcp://` with mutual TLS between brokers
// that know each other's keys. Runs on the broker's loop; nothing here blocks it.
#pragma once

#include "broker/overlay/link/address.hpp"
#include "broker/overlay/link/link_keys.hpp"

#include <flux/task.hpp>
#include <flux/transport.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace flux::broker {

/// Who is at the other end of an authenticated link.
class LinkPeer {
public:
    LinkPeer() {}
    std::string name;             ///< `uid 1000 pid 77` of ipc, `HOST:PORT` of tcp
    std::optional<PublicKey> key; ///< of tcp
};

class LinkOptions {
public:
    LinkOptions() {}
    /// Until a connection is made, name look-up included (`tbon.connect_timeout`). 0: the system's limit.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);
    /// From the connection to an authenticated link.
    std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
    /// An established tcp:// link whose peer's kernel is silent for so long ends with ETIMEDOUT
    /// (`tbon.tcp_user_timeout`). 0: the system's limit.
    std::chrono::milliseconds user_timeout = std::chrono::seconds(20);
};

/// A listening socket and the strangers that have connected to it and not yet shown who they are.
class LinkListener {
public:
    using OnAccept = std::function<void(std::unique_ptr<Transport>, const LinkPeer&)>;
    /// Told of a peer that was refused: its name and why.
    using OnRefuse = std::function<void(const std::string& peer, const Error&)>;

    /// \param keys  may be null for ipc://
    /// \param on_accept  takes authenticated links; may not destroy the listener
    /// \throws Error naming the address: EINVAL for a host that is no address or interface of this machine,
    /// EADDRINUSE..
    LinkListener(Loop& loop, const Address& address, std::shared_ptr<const LinkKeys> keys, LinkOptions options,
                 OnAccept on_accept, OnRefuse on_refuse);
    ~LinkListener();
    LinkListener(const LinkListener&) = delete;
    LinkListener& operator=(const LinkListener&) = delete;

    /// Where it listens, with the port that the kernel chose; the host is as it was given.
    const Address& address() const noexcept;
    /// For the handshakes that begin from now on. Established links stay.
    void set_keys(std::shared_ptr<const LinkKeys> keys) noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Connect to a peer that must have key `expected`, or any trusted key when none is given. All addresses of a host name
/// are tried, one after the other.
/// \param keys  may be null for ipc://
/// \throws Error naming the address: EHOSTUNREACH when the name cannot be resolved, what connect(2) says, ETIMEDOUT,
/// and
///         what TlsStream::handshake() throws; EKEYREJECTED is the one that will not go away by itself
Task<std::unique_ptr<Transport>> connect_link(Loop* loop, Address address, std::shared_ptr<const LinkKeys> keys,
                                              std::optional<PublicKey> expected, LinkOptions options);

} // namespace flux::broker
