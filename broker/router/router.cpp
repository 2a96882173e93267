#include "broker/router/router.hpp"

#include <cerrno>
#include <unistd.h>

namespace flux::broker {

Endpoint::~Endpoint() = default;

void Router::add(Endpoint& endpoint) { endpoints_[endpoint.uuid()] = &endpoint; }

void Router::remove(Endpoint& endpoint) {
    auto found = endpoints_.find(endpoint.uuid());
    if (found == endpoints_.end()) return;
    for (const auto& name : services_of(endpoint)) remove_service(name);
    std::vector<std::string> prefixes;
    endpoint.subscriptions.for_each([&](const std::string& prefix) { prefixes.push_back(prefix); });
    for (const auto& prefix : prefixes) {
        while (endpoint.subscriptions.contains(prefix)) unsubscribe(endpoint, prefix);
    }
    if (endpoint.peer()) {
        for (auto& [sender, entry] : std::exchange(endpoint.beyond, {})) {
            entry.disconnects.flush(entry.credentials, [&](Message request) {
                request.routes = entry.routes;
                forward_request(std::move(request), endpoint);
            });
        }
    } else {
        Credentials self{::getuid(), role_owner | role_local};
        endpoint.disconnects.flush(self, [&](Message request) { route(std::move(request), endpoint); });
    }
    endpoints_.erase(endpoint.uuid());
}

Endpoint* Router::find(std::string_view uuid) const {
    auto found = endpoints_.find(std::string(uuid));
    return found == endpoints_.end() ? nullptr : found->second;
}

void Router::deliver(Message message, Endpoint& target) {
    if (on_pass) on_pass(message, target, Way::to);
    target.deliver(std::move(message));
}

void Router::route(Message message, Endpoint& from) {
    if (on_pass) on_pass(message, from, Way::from);
    if (from.peer()) {
        message.credentials.rolemask &= ~std::uint32_t(role_local);
    } else {
        if (message.credentials.userid == userid_unknown) message.credentials.userid = ::getuid();
        if (message.credentials.rolemask == role_none) message.credentials.rolemask = role_owner | role_local;
    }
    switch (message.type) {
    case MessageType::request: route_request(std::move(message), from); break;
    case MessageType::response: respond(std::move(message)); break;
    case MessageType::event:
        if (rank_ == 0) {
            publish(std::move(message));
        } else if (from.parent()) {
            sequence_ = message.sequence();
            distribute(message);
        } else if (auto* above = parent()) {
            message.aux1 = 0; // the leader numbers it
            deliver(std::move(message), *above);
        }
        break;
    case MessageType::control: break;
    }
}

void Router::route_request(Message request, Endpoint& from) {
    if (!from.peer()) {
        // Local requesters need not know their rank to ask for a broker above this one.
        if (request.has(flag_upstream) && request.nodeid() == nodeid_any) request.aux1 = rank_;
        from.disconnects.note(request);
    }
    request.push_route(from.uuid());
    if (from.peer()) note_beyond(request, from);
    forward_request(std::move(request), from);
}

// A requester's own disconnect ends what is remembered of it.
void Router::note_beyond(const Message& request, Endpoint& peer) {
    if (request.noresponse()) {
        if (request.topic.ends_with(".disconnect")) peer.beyond.erase(std::string(request.sender()));
        return;
    }
    auto& entry = peer.beyond[std::string(request.sender())];
    if (entry.routes.empty()) {
        entry.routes = request.routes;
        entry.credentials = request.credentials;
    }
    entry.disconnects.note(request);
}

void Router::forward_request(Message request, Endpoint& from) {
    auto nodeid = request.nodeid();
    Endpoint* target = nullptr;
    if (request.has(flag_upstream) && nodeid == rank_) {
        target = parent();
        if (!target) return fail(request, EHOSTUNREACH);
    } else if (request.has(flag_upstream) || nodeid == nodeid_any) {
        target = service(request.service());
        if (!target) target = parent();
    } else if (nodeid == rank_) {
        target = service(request.service());
    } else {
        if (below(nodeid)) {
            auto why = unreachable(nodeid);
            if (!why.empty() && !request.noresponse()) return fail(request, EHOSTUNREACH, why);
            target = child_towards(nodeid);
        } else if (!from.parent()) {
            target = parent();
        } // else: from the parent and not below us, nobody has it
        if (!target) return fail(request, EHOSTUNREACH);
    }
    if (!target) return fail(request, ENOSYS, "No service matching " + request.topic + " is registered");
    deliver(std::move(request), *target);
}

void Router::fail(const Message& request, int errnum, std::string_view text) {
    if (request.noresponse() || request.matchtag() == matchtag_none) return;
    auto response = Message::response_error(request, errnum, text);
    response.credentials = {::getuid(), role_owner};
    respond(std::move(response));
}

void Router::respond(Message response) {
    auto* target = find(response.routes.top());
    if (!target) return; // its requester is gone
    response.routes.pop();
    deliver(std::move(response), *target);
}

bool Router::add_service(std::string_view name, Endpoint& target) {
    auto [at, added] = services_.emplace(std::string(name), &target);
    if (added && on_service) on_service(at->first, true);
    return added;
}

void Router::remove_service(std::string_view name) {
    std::string key(name);
    if (services_.erase(key) && on_service) on_service(key, false);
}

Endpoint* Router::service(std::string_view name) const {
    auto found = services_.find(std::string(name));
    return found == services_.end() ? nullptr : found->second;
}

std::vector<std::string> Router::services_of(const Endpoint& target) const {
    std::vector<std::string> names;
    for (const auto& [name, endpoint] : services_) {
        if (endpoint == &target) names.push_back(name);
    }
    return names;
}

void Router::subscribe(Endpoint& endpoint, const std::string& prefix) {
    endpoint.subscriptions.add(prefix);
    if (all_.add(prefix) && on_subscription) on_subscription(prefix, true);
}

bool Router::unsubscribe(Endpoint& endpoint, const std::string& prefix) {
    if (endpoint.subscriptions.remove(prefix) < 0) return false;
    if (all_.remove(prefix) == 0 && on_subscription) on_subscription(prefix, false);
    return true;
}

std::uint32_t Router::publish(Message event) {
    event.aux1 = ++sequence_;
    event.set(flag_route, false);
    event.routes.clear();
    distribute(event);
    return sequence_;
}

void Router::publish_below(Message event) {
    event.aux1 = sequence_;
    for (auto& [uuid, endpoint] : endpoints_) {
        if (!endpoint->parent() && endpoint->subscriptions.matches(event.topic)) deliver(event, *endpoint);
    }
}

void Router::distribute(const Message& event) {
    if (on_event) on_event(event);
    // Delivery queues; nobody comes or goes while this runs.
    for (auto& [uuid, endpoint] : endpoints_) {
        if (endpoint->subscriptions.matches(event.topic)) deliver(event, *endpoint);
    }
}

// BuiltinTransport ----------------------------------------------------------------------------------------------

struct BuiltinTransport::State final : Endpoint, std::enable_shared_from_this<BuiltinTransport::State> {
    State(Loop& loop, Router& router, std::string uuid)
        : Endpoint(std::move(uuid), Kind::local), loop(loop), router(router) {}

    // In both directions messages wait for the end of the current callback: a handler never runs inside its caller.
    void deliver(Message message) override { enqueue(std::move(message), true); }
    void enqueue(Message message, bool inward) {
        queue.emplace_back(std::move(message), inward);
        if (std::exchange(posted, true)) return;
        loop.post([self = shared_from_this()] { self->drain(); });
    }
    void drain() {
        posted = false;
        auto batch = std::exchange(queue, {});
        for (auto& [message, inward] : batch) {
            if (!inward)
                router.route(std::move(message), *this);
            else if (on_message)
                on_message(std::move(message));
        }
    }

    Loop& loop;
    Router& router;
    OnMessage on_message;
    std::vector<std::pair<Message, bool>> queue;
    bool posted = false;
};

BuiltinTransport::BuiltinTransport(Loop& loop, Router& router, std::string uuid)
    : state_(std::make_shared<State>(loop, router, std::move(uuid))) {
    router.add(*state_);
}

BuiltinTransport::~BuiltinTransport() {
    state_->on_message = nullptr;
    state_->router.remove(*state_);
}

void BuiltinTransport::start(OnMessage on_message, OnClosed) { state_->on_message = std::move(on_message); }
void BuiltinTransport::send(Message message) { state_->enqueue(std::move(message), false); }
Endpoint& BuiltinTransport::endpoint() noexcept { return *state_; }

} // namespace flux::broker
