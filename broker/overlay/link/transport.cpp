#include "broker/overlay/link/transport.hpp"

#include "broker/listener/listener.hpp"
#include "broker/overlay/link/tcp.hpp"
#include "broker/overlay/link/tls_stream.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <sys/un.h>
#include <unistd.h>

namespace flux::broker {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Handshakes under way at once: more wait in the kernel's backlog, where they cost no descriptors.
constexpr std::size_t strangers_limit = 256;
// When that many are there, one that takes longer than this has to go: an honest peer needs milliseconds.
constexpr auto crowded_timeout = 1s;
// What "the system's limit" may mean at most.
constexpr auto endless = std::chrono::hours(24);

Deadline deadline_after(std::chrono::milliseconds time) {
    return steady_clock::now() + (time > 0ms ? std::chrono::nanoseconds(time) : endless);
}

Error handshake_timeout(std::chrono::milliseconds time) {
    return Error(ETIMEDOUT, fmt::format("handshake timeout: not done within {} s", time.count() / 1000.0));
}

void require(const std::shared_ptr<const LinkKeys>& keys, const Address& address) {
    if (!keys) throw Error(EINVAL, fmt::format("{}: this broker has no key for tcp://", address.to_string()));
}

std::string describe(const ucred& peer) { return fmt::format("uid {} pid {}", peer.uid, peer.pid); }

} // namespace

struct LinkListener::State {
    struct Stranger {
        std::string name;
        steady_clock::time_point since;
        std::unique_ptr<TlsStream> stream;
        std::unique_ptr<FdWatcher> watcher;
    };
    using At = std::list<Stranger>::iterator;

    State(Loop& loop, const Address& address, std::shared_ptr<const LinkKeys> keys, LinkOptions options,
          OnAccept on_accept, OnRefuse on_refuse)
        : loop(loop),
          address(address),
          keys(std::move(keys)),
          options(options),
          on_accept(std::move(on_accept)),
          on_refuse(std::move(on_refuse)),
          expiry(loop, [this] { expire(); }) {
        if (address.kind() == Address::Kind::ipc) {
            ipc.emplace(loop, address.path(), 0,
                        [this](FileDescriptor socket, const ucred& peer) { admit(std::move(socket), peer); });
        } else {
            require(this->keys, address);
            tcp.emplace(loop, listen_tcp(address), [this](FileDescriptor socket) { meet(std::move(socket)); });
            this->address = Address::tcp(address.host(), port_of(tcp->fd()));
        }
    }

    void admit(FileDescriptor socket, const ucred& credentials) {
        if (credentials.uid != ::getuid())
            return on_refuse(describe(credentials), Error(EPERM, "the peer is another user"));
        LinkPeer peer;
        peer.name = describe(credentials);
        on_accept(std::make_unique<SocketTransport>(loop, socket.release()), peer);
    }

    void meet(FileDescriptor socket) {
        tune_tcp(socket.get(), options.user_timeout);
        auto stranger = strangers.emplace(strangers.end());
        stranger->name = peer_name(socket.get());
        stranger->since = steady_clock::now();
        stranger->stream = std::make_unique<TlsStream>(std::move(socket), keys, TlsStream::Side::accepts);
        stranger->watcher =
            std::make_unique<FdWatcher>(loop, stranger->stream->fd(), [this, stranger](int) { go_on(stranger); });
        stranger->watcher->watch(FdWatcher::readable);
        update();
    }

    void go_on(At stranger) {
        try {
            if (int directions = stranger->stream->handshake()) return stranger->watcher->watch(directions);
        } catch (const Error& error) {
            return refuse(stranger, error);
        }
        LinkPeer peer;
        peer.name = stranger->name;
        peer.key = stranger->stream->peer_key();
        auto stream = std::move(stranger->stream);
        forget(stranger);
        on_accept(make_transport(loop, std::move(stream)), peer);
    }

    void refuse(At stranger, const Error& error) {
        auto name = stranger->name;
        forget(stranger);
        on_refuse(name, error);
    }

    void forget(At stranger) {
        strangers.erase(stranger);
        update();
    }

    bool crowded() const noexcept { return strangers.size() >= strangers_limit; }
    std::chrono::milliseconds patience() const noexcept {
        return crowded() ? std::min<std::chrono::milliseconds>(crowded_timeout, options.handshake_timeout)
                         : options.handshake_timeout;
    }

    void update() {
        tcp->enable(!crowded());
        if (strangers.empty()) return expiry.stop();
        expiry.start(strangers.front().since + patience() - steady_clock::now());
    }

    void expire() {
        while (!strangers.empty() && strangers.front().since + patience() <= steady_clock::now())
            refuse(strangers.begin(), handshake_timeout(patience()));
        update();
    }

    Loop& loop;
    Address address;
    std::shared_ptr<const LinkKeys> keys;
    LinkOptions options;
    OnAccept on_accept;
    OnRefuse on_refuse;
    std::optional<Listener> ipc;
    std::optional<Acceptor> tcp;
    std::list<Stranger> strangers; ///< oldest first
    Timer expiry;                  ///< runs while there are strangers
};

LinkListener::LinkListener(Loop& loop, const Address& address, std::shared_ptr<const LinkKeys> keys,
                           LinkOptions options, OnAccept on_accept, OnRefuse on_refuse)
    : state_(std::make_unique<State>(loop, address, std::move(keys), options, std::move(on_accept),
                                     std::move(on_refuse))) {}

LinkListener::~LinkListener() = default;

const Address& LinkListener::address() const noexcept { return state_->address; }
void LinkListener::set_keys(std::shared_ptr<const LinkKeys> keys) noexcept { state_->keys = std::move(keys); }

// Connecting ----------------------------------------------------------------------------------------------------

namespace {

FileDescriptor connect_ipc(const Address& address) {
    auto fail = [&](int errnum, const std::string& why) {
        throw Error(errnum, fmt::format("cannot connect to {}: {}", address.to_string(), why));
    };
    sockaddr_un target{};
    target.sun_family = AF_UNIX;
    if (address.path().size() >= sizeof target.sun_path) fail(EINVAL, "the path is too long");
    std::memcpy(target.sun_path, address.path().c_str(), address.path().size() + 1);
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) < 0)
        fail(errno, errno_text(errno));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) fail(errno, errno_text(errno));
    if (peer.uid != ::getuid()) fail(EPERM, fmt::format("the peer is another user ({})", describe(peer)));
    return socket;
}

} // namespace

Task<std::unique_ptr<Transport>> connect_link(Loop* loop, Address address, std::shared_ptr<const LinkKeys> keys,
                                              std::optional<PublicKey> expected, LinkOptions options) {
    std::unique_ptr<Transport> transport;
    if (address.kind() == Address::Kind::ipc) {
        transport = std::make_unique<SocketTransport>(*loop, connect_ipc(address).release());
        co_return transport;
    }
    require(keys, address);
    auto socket = co_await connect_tcp(loop, address, deadline_after(options.connect_timeout));
    tune_tcp(socket.get(), options.user_timeout);
    auto stream = std::make_unique<TlsStream>(std::move(socket), keys, TlsStream::Side::connects, expected);
    const auto deadline = steady_clock::now() + options.handshake_timeout;
    for (;;) {
        int directions = 0;
        try {
            directions = stream->handshake();
        } catch (const Error& error) {
            throw error.while_doing(address.to_string());
        }
        if (directions == 0) break;
        bool in_time = co_await ready(loop, stream->fd(), directions, deadline);
        if (!in_time) throw handshake_timeout(options.handshake_timeout).while_doing(address.to_string());
    }
    transport = make_transport(*loop, std::move(stream));
    co_return transport;
}

} // namespace flux::broker
