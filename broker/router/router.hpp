// Decides where each message goes (broker.md 1.8). Runs on the broker's loop; knows endpoints, services and ranks, and
// nothing of what messages mean.
#pragma once

#include "broker/router/disconnect_list.hpp"
#include "broker/router/prefix_set.hpp"

#include <flux/handle.hpp>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux::broker {

/// Somebody that messages are delivered to and come from: a module, the connector, a peer broker, the broker's own
/// services.
class Endpoint {
public:
    enum class Kind { local, child, parent };
    Endpoint(std::string uuid, Kind kind) : uuid_(std::move(uuid)), kind_(kind) {}
    virtual ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    virtual void deliver(Message message) = 0;
    const std::string& uuid() const noexcept { return uuid_; }
    bool peer() const noexcept { return kind_ != Kind::local; }
    bool parent() const noexcept { return kind_ == Kind::parent; }

    PrefixSet subscriptions;    ///< events it wants
    DisconnectList disconnects; ///< services it has asked something

    /// Of a peer: what requesters beyond it have asked, by their route id, for the day when it is gone for good.
    struct Beyond {
        RouteStack routes;
        Credentials credentials;
        DisconnectList disconnects;
    };
    std::unordered_map<std::string, Beyond> beyond;

protected:
    std::string uuid_;

private:
    Kind kind_;
};

class Router {
public:
    Router() = default;

    void set_rank(std::uint32_t rank) noexcept { rank_ = rank; }
    std::uint32_t rank() const noexcept { return rank_; }

    /// An endpoint that responses and events reach. It leaves with remove(), which also tells the services it talked
    /// to.
    void add(Endpoint& endpoint);
    void remove(Endpoint& endpoint);
    Endpoint* find(std::string_view uuid) const;

    /// Where messages to other ranks go; nothing when there is no way.
    std::function<Endpoint*(std::uint32_t rank)> child_towards = [](std::uint32_t) { return nullptr; };
    std::function<Endpoint*()> parent = [] { return nullptr; };
    /// True when a rank lies below this broker: then there is no way to it but down.
    std::function<bool(std::uint32_t rank)> below = [](std::uint32_t) { return false; };
    /// Why a rank below this broker cannot be asked now; empty when it can.
    std::function<std::string(std::uint32_t rank)> unreachable = [](std::uint32_t) { return std::string(); };
    /// Told every event that is distributed here.
    std::function<void(const Message& event)> on_event;
    /// Called when the first of a prefix appears or the last one goes, for the parent's sum.
    std::function<void(const std::string& prefix, bool added)> on_subscription;
    std::function<void(const std::string& service, bool up)> on_service;
    /// Refuses requests of clients before the broker is online; empty text: let it pass.
    std::function<bool(const Message& request)> admit;

    enum class Way { from, to };
    /// Called with every message that comes from an endpoint or goes to one; null while nobody looks.
    std::function<void(const Message& message, const Endpoint& endpoint, Way way)> on_pass;

    /// Take a message from an endpoint and send it on its way.
    void route(Message message, Endpoint& from);
    /// Answer a request that arrived here with an error.
    void fail(const Message& request, int errnum, std::string_view text = {});
    /// Send a response on its way back.
    void respond(Message response);

    /// Register a service; false when it is taken.
    bool add_service(std::string_view name, Endpoint& target);
    void remove_service(std::string_view name);
    Endpoint* service(std::string_view name) const;
    std::vector<std::string> services_of(const Endpoint& target) const;

    void subscribe(Endpoint& endpoint, const std::string& prefix);
    /// False when it was not subscribed.
    bool unsubscribe(Endpoint& endpoint, const std::string& prefix);
    const PrefixSet& all_subscriptions() const noexcept { return all_; }

    /// Rank 0: number an event and send it to everybody. Returns its sequence.
    std::uint32_t publish(Message event);
    /// Send an event of this broker's own to those of its subtree, outside the numbering.
    void publish_below(Message event);
    /// Last sequence seen here.
    std::uint32_t event_sequence() const noexcept { return sequence_; }
    void set_event_sequence(std::uint32_t sequence) noexcept { sequence_ = sequence; }

private:
    void route_request(Message request, Endpoint& from);
    void forward_request(Message request, Endpoint& from);
    static void note_beyond(const Message& request, Endpoint& peer);
    void distribute(const Message& event);
    void deliver(Message message, Endpoint& target);

    std::uint32_t rank_ = 0;
    std::uint32_t sequence_ = 0;
    std::unordered_map<std::string, Endpoint*> endpoints_;
    std::unordered_map<std::string, Endpoint*> services_;
    PrefixSet all_;
};

/// Connects a Handle on the broker's own loop with the router.
class BuiltinTransport final : public Transport {
public:
    BuiltinTransport(Loop& loop, Router& router, std::string uuid);
    ~BuiltinTransport() override;
    void start(OnMessage on_message, OnClosed on_closed) override;
    void send(Message message) override;
    std::size_t backlog() const noexcept override { return 0; }
    Endpoint& endpoint() noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace flux::broker
