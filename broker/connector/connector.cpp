#include "broker/connector/connector.hpp"

#include "broker/connector/folded_route.hpp"
#include "broker/host/module_host.hpp"
#include "broker/router/rpc_tracker.hpp"

#include <flux/duration.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unistd.h>

namespace flux::broker {
namespace {

// Requests that a client may make before the broker is online (broker.md 1.9).
constexpr std::string_view exempt[] = {"state-machine.wait", "state-machine.get", "attr.get", "log.dmesg"};

// What may wait for a client that reads nothing. Streams wait with their senders long before; this is for one that
// subscribes to much, or asks for much, and goes to sleep.
constexpr std::size_t stall_backlog = std::size_t(16) << 20;

// A service whose name this is can still be told of a disconnect.
constexpr std::size_t max_topic = 255 - std::string_view(".disconnect").size();

// How long all clients together may take to read their last messages when the broker ends.
constexpr std::chrono::seconds flush_limit(1);

// Requests that the connector answers for its clients.
constexpr std::string_view own[] = {"event.subscribe", "event.unsubscribe", "service.add", "service.remove"};

} // namespace

class Connector::Client final : public Endpoint {
public:
    Client(Connector& connector, Loop& loop, int fd, const ucred& peer, Credentials credentials)
        : Endpoint(make_uuid(), Kind::local),
          peer(peer),
          credentials(credentials),
          connector_(connector),
          transport_(loop, fd),
          stall_(loop, [this] { check_stall(); }) {
        transport_.start([this](Message message) { connector_.on_message(*this, std::move(message)); },
                         [this](const Error&) { connector_.on_closed(*this); });
    }
    /// As the provider of a service: requests come with the connector's id on top of the client's way back.
    void deliver(Message message) override {
        asked.sent(message);
        send(std::move(message));
    }
    void send(Message message) {
        ++sent;
        transport_.send(std::move(message));
        if (backlog() > stall_backlog && !stall_.active()) watch_stall();
    }
    /// Whether a response answers what one of its services was asked. Anything else would be put in another's mouth.
    bool was_asked(const Message& response) {
        if (response.untagged()) return services.contains(std::string(response.service()));
        return asked.answered(response);
    }
    std::size_t backlog() const noexcept { return transport_.backlog(); }
    void flush(std::chrono::nanoseconds limit) noexcept { transport_.flush(limit); }

    ucred peer;
    Credentials credentials;
    std::uint64_t sent = 0, received = 0;
    std::set<std::string> services;
    RpcTracker asked; // of its services

private:
    void watch_stall() {
        constexpr double forever = 1e9;
        if (connector_.client_stall_ >= forever) return;
        taken_ = transport_.taken();
        stall_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double>(connector_.client_stall_)));
    }
    void check_stall() {
        if (backlog() <= stall_backlog) return;
        if (transport_.taken() != taken_) return watch_stall();
        connector_.on_stalled(*this);
    }

    Connector& connector_;
    SocketTransport transport_;
    Timer stall_;
    std::uint64_t taken_ = 0; // when the timer was started
};

Connector::Connector(Loop& loop, Router& router, Environment environment)
    : Endpoint(make_uuid(), Kind::local), loop_(loop), router_(router), environment_(std::move(environment)) {
    router_.add(*this);
}

Connector::~Connector() { close(); }

void Connector::close() noexcept {
    listener_.reset();
    // One who does not read must not keep the broker.
    const auto deadline = std::chrono::steady_clock::now() + flush_limit;
    for (auto& [uuid, client] : clients_) client->flush(deadline - std::chrono::steady_clock::now());
    while (!clients_.empty()) on_closed(*clients_.begin()->second);
    router_.remove(*this);
}

void Connector::listen(const std::string& path) {
    listener_.emplace(loop_, path, 0777,
                      [this](FileDescriptor socket, const ucred& peer) { admit(std::move(socket), peer); });
}

void Connector::configure(JsonView config) {
    auto access = config["access"];
    bool guest = false, root = false;
    double stall = default_client_stall;
    try {
        for (auto [key, value] : access.members()) {
            if (key == "allow-guest-user")
                guest = value.as<bool>();
            else if (key == "allow-root-owner")
                root = value.as<bool>();
            else if (key == "client-stall")
                stall = parse_duration(value.as<std::string_view>());
            else if (key == "private-mode")
                value.as<bool>();
            else if (key != "roles")
                throw Error(EINVAL, fmt::format("unknown key '{}'", key));
        }
    } catch (const Error& error) {
        throw Error(EINVAL, fmt::format("[access]: {}", error.what()));
    }
    allow_guest_user_ = guest;
    allow_root_owner_ = root;
    client_stall_ = stall;
}

void Connector::admit(FileDescriptor socket, const ucred& peer) {
    Credentials credentials;
    unsigned char refusal = 0;
    credentials.userid = peer.uid;
    if (peer.uid == ::getuid() || (peer.uid == 0 && allow_root_owner_))
        credentials.rolemask = role_owner | role_local;
    else if (allow_guest_user_)
        credentials.rolemask = role_user | role_local;
    else
        refusal = EPERM;
    if (std::exchange(deny_next_, false)) refusal = EPERM;
    if (std::exchange(unknown_next_, false)) credentials = {userid_unknown, role_user};
    if (refusal) environment_.log(LogLevel::err, fmt::format("connect by uid={} pid={} denied", peer.uid, peer.pid));
    if (::send(socket.get(), &refusal, 1, MSG_NOSIGNAL) != 1 || refusal) return;
    ++connects_;
    auto client = std::make_unique<Client>(*this, loop_, socket.release(), peer, credentials);
    auto uuid = client->uuid();
    clients_.emplace(uuid, std::move(client));
}

void Connector::on_message(Client& client, Message message) {
    ++client.received;
    if (client.credentials.owner()) {
        if (message.credentials.userid == userid_unknown) message.credentials.userid = client.credentials.userid;
        if (message.credentials.rolemask == role_none) message.credentials.rolemask = client.credentials.rolemask;
    } else {
        message.credentials = client.credentials;
    }
    if (message.type == MessageType::request) {
        if (!environment_.online() &&
            std::find(std::begin(exempt), std::end(exempt), message.topic) == std::end(exempt)) {
            answer(client, message, EAGAIN, "Upstream Flux broker is offline. Try again later.");
            return;
        }
        if (message.topic.size() > max_topic) {
            answer(client, message, EPROTO, fmt::format("a topic has at most {} characters", max_topic));
            return;
        }
        if (std::find(std::begin(own), std::end(own), message.topic) != std::end(own))
            return intercept(client, message);
        client.disconnects.note(message);
        if (!accept_route(client, message)) return;
    }
    if (message.type == MessageType::control) return;
    if (message.type == MessageType::response && !client.was_asked(message)) return;
    router_.route(std::move(message), *this);
}

// The owner may relay for anybody. False when the request was answered with an error.
bool Connector::accept_route(Client& client, Message& request) {
    if (client.credentials.owner() || request.routes.empty()) {
        request.push_route(client.uuid());
        return true;
    }
    try {
        auto folded = fold_route(request.routes, client.uuid());
        request.routes.clear();
        request.push_route(folded);
    } catch (const Error& error) {
        answer(client, request, error.errnum(), error.text());
        return false;
    }
    return true;
}

void Connector::answer(Client& client, const Message& request, int errnum, std::string_view text) {
    if (request.noresponse()) return;
    auto response = errnum ? Message::response_error(request, errnum, text) : Message::response(request);
    response.set(flag_route);
    response.credentials = {::getuid(), role_owner};
    client.send(std::move(response));
}

// Subscriptions and services of a client are ours to keep: they end with it.
void Connector::intercept(Client& client, const Message& request) {
    try {
        auto payload = request.payload.json();
        if (request.topic == "event.subscribe") {
            auto topic = payload.get<std::string>("topic");
            client.subscriptions.add(topic);
            router_.subscribe(*this, topic);
        } else if (request.topic == "event.unsubscribe") {
            auto topic = payload.get<std::string>("topic");
            if (client.subscriptions.remove(topic) < 0) throw Error(ENOENT);
            router_.unsubscribe(*this, topic);
        } else if (request.topic == "service.add") {
            auto service = payload.get<std::string>("service");
            if (service.find('.') != std::string::npos) throw Error(EINVAL);
            if (!request.credentials.owner() && !service.starts_with(std::to_string(request.credentials.userid) + "-"))
                throw Error(EPERM);
            if (!router_.add_service(service, client)) throw Error(EEXIST);
            client.services.insert(service);
        } else {
            auto service = payload.get<std::string>("service");
            if (!client.services.erase(service)) throw Error(ENOENT);
            router_.remove_service(service);
        }
        answer(client, request);
    } catch (const Error& error) {
        answer(client, request, error.errnum(), error.text());
    }
}

void Connector::deliver(Message message) {
    switch (message.type) {
    case MessageType::response: {
        auto client = clients_.find(client_of(message.routes.top()));
        if (client == clients_.end()) return;
        if (auto given = unfold_route(message.routes.top()); !given.empty())
            message.routes = std::move(given);
        else
            message.routes.pop();
        message.set(flag_route);
        if (message.credentials.rolemask == role_none) message.credentials.rolemask = role_owner;
        client->second->send(std::move(message));
        break;
    }
    case MessageType::event:
        for (auto& [uuid, client] : clients_) {
            if (message.has(flag_private) && !client->credentials.owner() &&
                client->credentials.userid != message.credentials.userid)
                continue;
            if (client->subscriptions.matches(message.topic)) client->send(message);
        }
        break;
    default: break;
    }
}

void Connector::on_stalled(Client& client) {
    environment_.log(LogLevel::err,
                     fmt::format("client pid={} uid={} has read nothing for {}: dropped with {} bytes waiting",
                                 client.peer.pid, client.peer.uid, format_duration(client_stall_), client.backlog()));
    on_closed(client);
}

void Connector::on_closed(Client& client) {
    for (const auto& service : client.services) router_.remove_service(service);
    for (const auto& pending : client.asked.take_all())
        router_.fail(pending.request, EHOSTUNREACH,
                     fmt::format("the provider of service {} disconnected", pending.request.service()));
    std::vector<std::string> prefixes;
    client.subscriptions.for_each([&](const std::string& prefix) { prefixes.push_back(prefix); });
    for (const auto& prefix : prefixes) {
        while (client.subscriptions.remove(prefix) >= 0) router_.unsubscribe(*this, prefix);
    }
    client.disconnects.flush(client.credentials, [&](Message request) {
        request.push_route(client.uuid());
        router_.route(std::move(request), *this);
    });
    auto node = clients_.extract(client.uuid());
    // Its own callback may be running: it goes when that has returned.
    loop_.post([gone = std::shared_ptr<Client>(std::move(node.mapped()))] {});
}

Json Connector::stats() const {
    auto clients = Json::array();
    for (const auto& [uuid, client] : clients_) {
        clients.append(Json::object("uuid", uuid, "userid", client->credentials.userid, "pid", client->peer.pid,
                                    "txcount", client->sent, "rxcount", client->received, "rxbacklog",
                                    client->backlog()));
    }
    return Json::object("server", Json::object("clients", std::move(clients), "connects", connects_),
                        "allow_guest_user", allow_guest_user_, "allow_root_owner", allow_root_owner_);
}

void Connector::serve(Handle& handle) {
    handle.serve(Method("connector-local.stats-get", MethodClass::read),
                 [this](Request request) { request.respond(stats()); });
    handle.serve(Method("connector-local.debug", MethodClass::once), [this](Request request) {
        auto flags = request.json().get<unsigned>("flags");
        deny_next_ = flags & 1;
        unknown_next_ = flags & 4;
        request.respond(Json::object("flags", flags));
    });
}

} // namespace flux::broker
