#include "broker/overlay/overlay.hpp"

#include "broker/overlay/verdict.hpp"

#include <flux/duration.hpp>
#include <flux/overlay_protocol.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace flux::broker {
namespace {

using namespace std::chrono_literals;

// How long the parent may take to read the last words of a link.
constexpr auto flush_limit = 1s;
// How long a stranger may take to say hello.
constexpr auto hello_limit = 10s;

// Range of link protocols that this broker speaks; a link needs an overlap.
constexpr int protocol = 2;
constexpr int protocol_min = 2;

} // namespace

const char* to_string(SubtreeStatus status) noexcept {
    switch (status) {
    case SubtreeStatus::unknown: return "unknown";
    case SubtreeStatus::full: return "full";
    case SubtreeStatus::partial: return "partial";
    case SubtreeStatus::degraded: return "degraded";
    case SubtreeStatus::lost: return "lost";
    case SubtreeStatus::offline: return "offline";
    }
    return "unknown";
}

Overlay::Overlay(Loop& loop, Router& router, Handle& handle, Scope& scope, Topology topology, Environment environment)
    : loop_(loop),
      router_(router),
      handle_(handle),
      topology_(std::move(topology)),
      environment_(std::move(environment)),
      arrivals_(loop, std::make_shared<Channel>(), Channel::Side::broker),
      beat_timer_(loop, [this] { beat(); }) {
    arrivals_.start([this](Message gone) { on_gone(gone); }, {});
    for (auto rank : topology_.children(environment_.rank)) children_[rank];
    if (auto parent = topology_.parent(environment_.rank)) {
        Upstream::Environment up;
        up.parent = *parent;
        up.hold_timeout = environment_.hold_timeout;
        up.hold_limit = environment_.hold_limit;
        up.connect = [this] { return connect_link(&loop_, *parent_.address, keys_, parent_.key, environment_.link); };
        up.make_link = [this](std::unique_ptr<Transport> transport) {
            return make_link(Link::Kind::parent, std::move(transport));
        };
        up.hello = [this] { return hello(); };
        up.on_joined = [this](Link& link, JsonView answer) {
            add(link);
            joined(answer);
        };
        up.on_message = [this](Link& link, Message message) { on_parent_message(link, std::move(message)); };
        up.on_link_lost = [this](Link& link) { links_.erase(link.number); };
        up.on_path = [this] { path_changed(); };
        up.on_ended = [this](const Error& why, bool refused) {
            environment_.on_parent_lost(refused ? std::string("overlay.hello: ") + why.what() : why.what());
        };
        up.log = environment_.log;
        upstream_.emplace(loop, router, scope, std::move(up));
        auto on_resync = [this](const Message& event) { incarnation_ = event.json().get<std::string>("incarnation"); };
        handle_.subscribe(overlay_protocol::resync_event, on_resync).then([](const Message&) {});
    } else {
        incarnation_ = environment_.uuid;
    }
    router_.parent = [this]() -> Endpoint* { return upstream_ ? upstream_->endpoint() : nullptr; };
    router_.child_towards = [this](std::uint32_t rank) -> Endpoint* {
        auto hop = topology_.next_hop(environment_.rank, rank);
        if (!hop) return nullptr;
        return children_[*hop].link.get();
    };
    router_.below = [this](std::uint32_t rank) { return topology_.next_hop(environment_.rank, rank).has_value(); };
    router_.unreachable = [this](std::uint32_t rank) -> std::string {
        auto hop = topology_.next_hop(environment_.rank, rank);
        if (!hop) return {};
        const auto& child = children_[*hop];
        if (!child.link) return fmt::format("{} is {}", name_of(*hop), to_string(child.status));
        return child.torpid ? name_of(*hop) + " is unresponsive" : std::string();
    };
    router_.on_subscription = [this](const std::string& prefix, bool added) {
        auto* link = upstream_ ? upstream_->link() : nullptr;
        if (!link) return;
        auto request = Message::request("overlay.subscribe");
        request.set(flag_noresponse);
        request.payload = Payload::from_json(Json::object("topic", prefix, "add", added));
        link->send(std::move(request));
    };
    if (!children_.empty()) router_.on_event = [this](const Message& event) { ring_.add(event); };
    serve();
    beat();
}

Overlay::~Overlay() {
    listeners_.clear();
    for (auto& [rank, child] : children_) {
        if (child.link) router_.remove(*child.link);
    }
    upstream_.reset();
    router_.parent = [] { return nullptr; };
    router_.child_towards = [](std::uint32_t) { return nullptr; };
    router_.unreachable = [](std::uint32_t) { return std::string(); };
    router_.on_subscription = nullptr;
    router_.on_event = nullptr;
}

std::string Overlay::name_of(std::uint32_t rank) const {
    return fmt::format("{} (rank {})", environment_.host_of(rank), rank);
}

std::unique_ptr<Link> Overlay::make_link(Link::Kind kind, std::unique_ptr<Transport> transport) {
    return std::make_unique<Link>(++last_link_, kind, std::move(transport), arrivals_.injector());
}

// The parent ----------------------------------------------------------------------------------------------------

Json Overlay::hello() const {
    auto subscriptions = Json::array();
    router_.all_subscriptions().for_each([&](const std::string& prefix) { subscriptions.append(prefix); });
    auto hello = Json::object("rank", environment_.rank, "hostname", environment_.hostname, "uuid", environment_.uuid,
                              "boot-id", environment_.boot_id, "status", static_cast<int>(status()), "proto", protocol,
                              "proto-min", protocol_min, "subscriptions", std::move(subscriptions));
    // Of a session that goes on.
    if (!incarnation_.empty()) {
        hello.set("incarnation", incarnation_);
        hello.set("sequence", router_.event_sequence());
    }
    return hello;
}

Task<> Overlay::join(ParentAddress parent) {
    parent_ = std::move(parent);
    upstream_->set_parent_host(parent_.host);
    co_await upstream_->join();
}

// The parent is there, or back: as it was, with the events that were missed to follow, or as another one.
void Overlay::joined(JsonView answer) {
    bool goes_on = answer.get_or("resumed", false);
    bool first = incarnation_.empty();
    incarnation_ = answer.get<std::string>("incarnation");
    if (!goes_on) router_.set_event_sequence(answer.get<std::uint32_t>("sequence"));
    reported_ = status();
    environment_.on_joined(answer, first);
    if (first || goes_on) return;
    ring_.clear();
    auto event = Message::event(overlay_protocol::resync_event);
    event.credentials = Credentials{::getuid(), role_owner};
    event.payload = Payload::from_json(Json::object("incarnation", incarnation_, "rank", environment_.rank));
    router_.publish_below(std::move(event));
}

void Overlay::open() {
    if (upstream_) upstream_->open();
}

void Overlay::give_up(const std::string& why) {
    if (upstream_) upstream_->give_up(why);
}

Task<> Overlay::goodbye() {
    if (upstream_) upstream_->leave(flush_limit);
    co_return;
}

void Overlay::on_parent_message(Link& link, Message message) {
    if (message.type == MessageType::control) return on_parent_control(message);
    if (message.type == MessageType::response && !link.tracker.answered(message)) return;
    link.receipts.received(message);
    router_.route(std::move(message), link);
}

void Overlay::on_parent_control(const Message& message) {
    auto parent = *topology_.parent(environment_.rank);
    switch (message.aux1) {
    case control_gone: upstream_->link()->receipts.gone(message.aux2); break;
    case control_path: upstream_->set_path_above(message.aux2); break;
    case control_hold: upstream_->pause(name_of(parent) + " is being restarted"); break;
    case control_disconnect: upstream_->end(Error(EHOSTUNREACH, name_of(parent) + " sent disconnect control message"));
    }
}

void Overlay::path_changed() {
    const auto& path = upstream_->path();
    auto status = path.held ? path.rank + 1 : 0;
    for (auto& [rank, child] : children_) {
        if (child.link) child.link->send(Message::control(control_path, status));
    }
    path_watchers_.for_each([this](auto& entry) { entry.request.respond(path_json()); });
}

// Children ------------------------------------------------------------------------------------------------------

Address Overlay::listen(const Address& address) {
    auto on_accept = [this](std::unique_ptr<Transport> transport, const LinkPeer& peer) {
        auto& link = strangers_.emplace_back(make_link(Link::Kind::child, std::move(transport)));
        link->peer = peer.name;
        link->start([this](Link& from, Message message) { on_child_message(from, std::move(message)); },
                    [this](Link& from, const Error& error) { on_closed(from, error); });
    };
    auto on_refuse = [this](const std::string& peer, const Error& error) {
        environment_.log(LogLevel::err, fmt::format("overlay: refused {}: {}", peer, error.what()));
    };
    listeners_.push_back(std::make_unique<LinkListener>(loop_, address, keys_, environment_.link, std::move(on_accept),
                                                        std::move(on_refuse)));
    return listeners_.back()->address();
}

void Overlay::set_keys(std::shared_ptr<const LinkKeys> keys) {
    keys_ = std::move(keys);
    for (auto& listener : listeners_) listener->set_keys(keys_);
}

void Overlay::announce_restart() {
    restarting_ = true;
    for (auto& [rank, child] : children_) {
        if (child.link) child.link->send(Message::control(control_hold, 0));
    }
}

Task<> Overlay::requests_done(std::chrono::nanoseconds limit) {
    bool late = false;
    Timer timer(loop_, [&] {
        late = true;
        requests_changed_.notify_all();
    });
    timer.start(limit);
    auto busy = [this] {
        return std::any_of(children_.begin(), children_.end(),
                           [](const auto& entry) { return entry.second.link && entry.second.link->asked.size() > 0; });
    };
    while (busy() && !late) co_await requests_changed_.wait();
}

Task<> Overlay::children_gone() {
    while (!connected_children().empty()) co_await children_changed_.wait();
}

void Overlay::on_child_message(Link& link, Message message) {
    link.last_received = Clock::now();
    if (message.type == MessageType::request && message.service() == "overlay") {
        auto method = message.method();
        if (method == "hello") return on_hello(link, message);
        if (method == "goodbye") return on_goodbye(link);
        if (method == "subscribe") return on_subscribe(link, message);
    }
    if (!link.joined) return; // nothing else is taken before hello
    auto& child = children_[link.rank];
    if (child.torpid) set_torpid(link.rank, child, false);
    if (message.type == MessageType::control) {
        if (message.aux1 == control_gone) link.receipts.gone(message.aux2);
        if (message.aux1 == control_status) set_child(link.rank, static_cast<SubtreeStatus>(message.aux2), {});
        return;
    }
    if (message.type == MessageType::response && !link.tracker.answered(message)) return;
    if (message.type == MessageType::request && !message.streaming() && !may_repeat(message)) link.asked.sent(message);
    link.receipts.received(message);
    router_.route(std::move(message), link);
}

void Overlay::on_hello(Link& link, const Message& request) {
    auto refuse = [&](int errnum, const std::string& text) {
        environment_.log(LogLevel::err, fmt::format("overlay: refused hello of {}: {}", link.peer, text));
        link.send(Message::response_error(request, errnum, text));
    };
    try {
        auto payload = request.json();
        auto rank = payload.get<std::uint32_t>("rank");
        auto hostname = payload.get<std::string>("hostname");
        auto uuid = payload.get<std::string>("uuid");
        auto child = children_.find(rank);
        if (link.joined) return;
        if (child == children_.end())
            return refuse(EINVAL, fmt::format("{}: rank {} is not a child of rank {}: mismatched config?", hostname,
                                              rank, environment_.rank));
        if (payload.get<int>("proto") < protocol_min || payload.get<int>("proto-min") > protocol)
            return refuse(EINVAL, fmt::format("{} (rank {}) speaks overlay protocol {} to {}, this broker {} to {}",
                                              hostname, rank, payload.get<int>("proto-min"), payload.get<int>("proto"),
                                              protocol_min, protocol));
        if (restarting_ || !environment_.accepting())
            return refuse(EAGAIN, fmt::format("{} is shutting down", environment_.hostname));
        if (child->second.link) {
            // The other end knows that its link is gone before this one does; a host that has booted again, too.
            bool same = child->second.link->uuid() == uuid;
            if (!same && child->second.boot_id == payload.get_or<std::string>("boot-id", ""))
                return refuse(EEXIST,
                              fmt::format("{}: rank {} is here already, from {}", hostname, rank, name_of(rank)));
            child_gone(rank, SubtreeStatus::lost, same ? "lost connection" : "rebooted", !same);
        }
        welcome(link, request);
    } catch (const Error& error) {
        refuse(EPROTO, error.what());
    }
}

void Overlay::welcome(Link& link, const Message& request) {
    auto payload = request.json();
    auto& child = children_[payload.get<std::uint32_t>("rank")];
    link.rank = payload.get<std::uint32_t>("rank");
    link.set_uuid(payload.get<std::string>("uuid"));
    link.joined = true;
    link.on_all_answered = [this] { requests_changed_.notify_all(); };
    child.boot_id = payload.get_or<std::string>("boot-id", "");
    auto self =
        std::find_if(strangers_.begin(), strangers_.end(), [&](const auto& other) { return other.get() == &link; });
    child.link = std::move(*self);
    strangers_.erase(self);
    add(link);
    environment_.on_node_lost(link.rank, false);
    auto subscriptions = payload["subscriptions"];
    for (auto prefix : subscriptions.elements()) router_.subscribe(link, prefix.as<std::string>());
    auto missed = payload.get_optional<std::uint32_t>("sequence");
    bool resumed = missed && payload.get_or<std::string>("incarnation", "") == incarnation_ &&
                   ring_.covers(*missed, router_.event_sequence());
    auto answer = environment_.hello_answer();
    answer.set("uuid", environment_.uuid);
    answer.set("hostname", environment_.hostname);
    answer.set("incarnation", incarnation_);
    answer.set("sequence", router_.event_sequence());
    answer.set("resumed", resumed);
    answer.set("proto", protocol);
    auto response = Message::response(request);
    response.payload = Payload::from_json(std::move(answer));
    link.send(std::move(response));
    if (resumed) {
        ring_.for_each_after(*missed, [&](const Message& event) {
            if (link.subscriptions.matches(event.topic)) link.send(event);
        });
    }
    if (upstream_ && upstream_->path().held) link.send(Message::control(control_path, upstream_->path().rank + 1));
    set_child(link.rank, static_cast<SubtreeStatus>(payload.get<int>("status")), {});
}

void Overlay::on_goodbye(Link& link) {
    if (link.joined) child_gone(link.rank, SubtreeStatus::offline, "administrative shutdown");
}

void Overlay::on_subscribe(Link& link, const Message& request) {
    if (!link.joined) return;
    auto prefix = request.json().get<std::string>("topic");
    if (request.json().get<bool>("add"))
        router_.subscribe(link, prefix);
    else
        router_.unsubscribe(link, prefix);
}

void Overlay::on_closed(Link& link, const Error& error) {
    bool node_lost = is_node_lost(error);
    if (link.joined)
        return child_gone(link.rank, SubtreeStatus::lost, node_lost ? verdict(error) : "lost connection", node_lost);
    auto at =
        std::find_if(strangers_.begin(), strangers_.end(), [&](const auto& other) { return other.get() == &link; });
    if (at == strangers_.end()) return;
    auto stranger = std::move(*at);
    strangers_.erase(at);
    drop(std::move(stranger));
}

void Overlay::add(Link& link) {
    links_[link.number] = &link;
    router_.add(link);
}

// A message that came over a link has left this broker.
void Overlay::on_gone(const Message& message) {
    auto link = links_.find(message.aux1);
    if (link != links_.end()) link->second->send(Message::control(control_gone, message.aux2));
}

// A link may be dropped from its own callback: it goes when that has returned.
void Overlay::drop(std::unique_ptr<Link> link) {
    links_.erase(link->number);
    loop_.post([link = std::shared_ptr<Link>(std::move(link))] {});
}

// Heartbeats ----------------------------------------------------------------------------------------------------

// An idle link carries one message per period each way, and peers that have sent nothing for longer are torpid.
void Overlay::beat() {
    auto now = Clock::now();
    // Who was held up himself has not yet read what came meanwhile: he judges nobody for that time.
    if (now - next_beat_ > environment_.torpid_min) {
        for (auto& [number, link] : links_) link->last_received = now;
    }
    // Those who connected and said nothing; a link that was refused, too.
    for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
        auto old = now - (*stranger)->last_received > hello_limit;
        if (old) drop(std::move(*stranger));
        stranger = old ? strangers_.erase(stranger) : stranger + 1;
    }
    next_beat_ = now + environment_.torpid_min;
    if (auto* link = upstream_ ? upstream_->link() : nullptr) {
        next_beat_ = std::min(next_beat_, keep_up(*link, now));
        if (silent(*link, now) && !upstream_->silent()) upstream_->set_silent(now - link->last_received);
    }
    for (auto& [rank, child] : children_) {
        if (!child.link) continue;
        next_beat_ = std::min(next_beat_, keep_up(*child.link, now));
        if (silent(*child.link, now) && !child.torpid) set_torpid(rank, child, true);
    }
    beat_timer_.start(next_beat_ - now);
}

/// Give a sign of life when it is due. \return when this link is to be looked at again
Overlay::Clock::time_point Overlay::keep_up(Link& link, Clock::time_point now) {
    if (now - link.last_sent >= environment_.torpid_min) link.send(Message::control(control_heartbeat, 0));
    auto next = link.last_sent + environment_.torpid_min;
    auto late = link.last_received + environment_.torpid_max;
    return late > now ? std::min(next, late) : next;
}

bool Overlay::silent(const Link& link, Clock::time_point now) const {
    return environment_.torpid_max > 0ns && now - link.last_received >= environment_.torpid_max;
}

void Overlay::set_torpid(std::uint32_t rank, Child& child, bool torpid) {
    child.torpid = torpid;
    if (torpid) {
        auto silence = std::chrono::duration<double>(Clock::now() - child.link->last_received).count();
        environment_.log(LogLevel::err, fmt::format("broker on {} has been unresponsive for {}", name_of(rank),
                                                    format_duration(silence)));
        // What it may never have seen is not waited for; what it has begun to answer goes on when it wakes up.
        for (auto& pending : child.link->tracker.take_if([](const auto& other) { return !other.answering; }))
            router_.fail(pending.request, EHOSTUNREACH, name_of(rank) + " is unresponsive");
    } else {
        environment_.log(LogLevel::err, fmt::format("broker on {} is responsive now", name_of(rank)));
    }
    environment_.on_torpid(rank, torpid);
    monitors_.for_each([&](auto& entry) {
        entry.request.respond(Json::object("rank", rank, "status", to_string(child.status), "torpid", torpid));
    });
    health_watchers_.for_each([this](auto& entry) { entry.request.respond(health()); });
}

// Status --------------------------------------------------------------------------------------------------------

void Overlay::child_gone(std::uint32_t rank, SubtreeStatus status, const std::string& why, bool node_lost) {
    auto& child = children_[rank];
    if (!child.link) return;
    auto link = std::move(child.link);
    router_.remove(*link);
    for (auto& pending : link->tracker.take_all())
        router_.fail(pending.request, EHOSTUNREACH, fmt::format("{}: {}", name_of(rank), why));
    drop(std::move(link));
    if (std::exchange(child.torpid, false)) environment_.on_torpid(rank, false);
    auto ranks = subtree(rank);
    if (status == SubtreeStatus::lost) {
        std::string others;
        if (ranks.count() > 1) others = fmt::format(" and severed contact with {} other nodes", ranks.count() - 1);
        if (node_lost) others += ": " + why;
        environment_.log(LogLevel::err, fmt::format("{} failed{}", name_of(rank), others));
    }
    set_child(rank, status, why);
    environment_.on_ranks_gone(ranks);
    if (node_lost) environment_.on_node_lost(rank, true);
    children_changed_.notify_all();
    requests_changed_.notify_all();
}

void Overlay::set_child(std::uint32_t rank, SubtreeStatus status, std::string error) {
    auto& child = children_[rank];
    if (child.status == status && child.error == error) return;
    child.status = status;
    child.error = std::move(error);
    child.since = std::chrono::steady_clock::now();
    monitors_.for_each([&](auto& entry) {
        entry.request.respond(Json::object("rank", rank, "status", to_string(status), "torpid", child.torpid));
    });
    status_changed();
}

std::optional<std::uint32_t> Overlay::rank_of(const Endpoint& endpoint) const {
    if (endpoint.parent()) return topology_.parent(environment_.rank);
    for (const auto& [rank, child] : children_)
        if (&endpoint == child.link.get()) return rank;
    return std::nullopt;
}

SubtreeStatus Overlay::status() const {
    bool all_full = true, broken = false;
    for (const auto& [rank, child] : children_) {
        all_full &= child.status == SubtreeStatus::full;
        broken |= child.status == SubtreeStatus::lost || child.status == SubtreeStatus::degraded;
    }
    if (broken) return SubtreeStatus::degraded;
    return all_full ? SubtreeStatus::full : SubtreeStatus::partial;
}

void Overlay::status_changed() {
    auto now = status();
    if (now != reported_) {
        reported_ = now;
        since_ = std::chrono::steady_clock::now();
        if (auto* link = upstream_ ? upstream_->link() : nullptr)
            link->send(Message::control(control_status, static_cast<std::uint32_t>(now)));
    }
    health_watchers_.for_each([this](auto& entry) { entry.request.respond(health()); });
}

Idset Overlay::connected_children() const {
    Idset ranks;
    for (const auto& [rank, child] : children_) {
        if (child.link) ranks.set(rank);
    }
    return ranks;
}

Idset Overlay::subtree(std::uint32_t rank) const {
    Idset ranks{rank};
    for (auto child : topology_.children(rank)) ranks |= subtree(child);
    return ranks;
}

Json Overlay::path_json() const {
    if (!upstream_) return Json::object("state", "up", "rank", environment_.rank, "host", environment_.hostname);
    const auto& path = upstream_->path();
    auto json =
        Json::object("state", path.held ? "held" : "up", "rank", path.rank, "host", environment_.host_of(path.rank),
                     "since", std::chrono::duration<double>(path.since.time_since_epoch()).count());
    if (path.held) json.set("reason", path.reason);
    if (path.silent) json.set("silent", true);
    return json;
}

} // namespace flux::broker
