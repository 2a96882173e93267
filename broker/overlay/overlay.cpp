#include "broker/overlay/overlay.hpp"

#include "broker/overlay/receipts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace flux::broker {
namespace {

using namespace std::chrono_literals;

// How long the parent may take to read the last words of a link.
constexpr auto flush_limit = 1s;

// Range of link protocols that this broker speaks; a link needs an overlap.
constexpr int protocol = 2;
constexpr int protocol_min = 2;

enum ControlType : std::uint32_t {
    control_heartbeat = 0,
    control_status = 1,
    control_disconnect = 2,
    control_gone = 3, ///< status: number of a message of a stream, see Receipts
};

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

/// One connection to a peer broker. It is an endpoint of the router once its hello is done.
class Overlay::Link final : public Endpoint {
public:
    Link(Overlay& overlay, std::unique_ptr<Transport> transport)
        : Endpoint("", Kind::peer),
          number(++overlay.last_link_),
          receipts([inject = overlay.arrivals_.injector(), link = number](std::uint32_t message) {
              inject(Message::control(link, message));
          }),
          transport_(std::move(transport)) {
        transport_->start([&overlay, this](Message message) { overlay.on_message(*this, std::move(message)); },
                          [&overlay, this](const Error& error) { overlay.on_closed(*this, error); });
    }
    void deliver(Message message) override {
        if (message.type == MessageType::request) tracker.sent(message);
        receipts.sent(message);
        transport_->send(std::move(message));
    }
    /// A message of the link itself, not of those that use it.
    void send(Message message) { transport_->send(std::move(message)); }
    void set_uuid(std::string uuid) { uuid_ = std::move(uuid); }
    void flush(std::chrono::nanoseconds limit) noexcept { transport_->flush(limit); }

    const std::uint32_t number;
    std::uint32_t rank = nodeid_any;
    bool upward = false; ///< to the parent
    bool joined = false; ///< hello is done
    RpcTracker tracker;
    Receipts receipts;

private:
    std::unique_ptr<Transport> transport_;
};

Overlay::Overlay(Loop& loop, Router& router, Handle& handle, Topology topology, Environment environment)
    : loop_(loop),
      router_(router),
      handle_(handle),
      topology_(std::move(topology)),
      environment_(std::move(environment)),
      arrivals_(loop, std::make_shared<Channel>(), Channel::Side::broker) {
    arrivals_.start([this](Message gone) { on_gone(gone); }, {});
    for (auto rank : topology_.children(environment_.rank)) children_[rank];
    router_.parent = [this]() -> Endpoint* { return parent_ && parent_->joined ? parent_.get() : nullptr; };
    router_.child_towards = [this](std::uint32_t rank) -> Endpoint* {
        auto hop = topology_.next_hop(environment_.rank, rank);
        if (!hop) return nullptr;
        return children_[*hop].link.get();
    };
    router_.below = [this](std::uint32_t rank) { return topology_.next_hop(environment_.rank, rank).has_value(); };
    router_.on_subscription = [this](const std::string& prefix, bool added) {
        if (!parent_ || !parent_->joined) return;
        auto request = Message::request("overlay.subscribe");
        request.set(flag_noresponse);
        request.payload = Payload::from_json(Json::object("topic", prefix, "add", added));
        parent_->send(std::move(request));
    };
    serve();
}

Overlay::~Overlay() {
    listeners_.clear();
    for (auto& [rank, child] : children_) {
        if (child.link) router_.remove(*child.link);
    }
    if (parent_ && parent_->joined) router_.remove(*parent_);
    router_.parent = [] { return nullptr; };
    router_.child_towards = [](std::uint32_t) { return nullptr; };
    router_.on_subscription = nullptr;
}

// Connecting ----------------------------------------------------------------------------------------------------

void Overlay::set_keys(std::shared_ptr<const LinkKeys> keys) {
    keys_ = std::move(keys);
    for (auto& listener : listeners_) listener->set_keys(keys_);
}

Address Overlay::listen(const Address& address) {
    auto on_accept = [this](std::unique_ptr<Transport> transport, const LinkPeer&) {
        strangers_.push_back(std::make_unique<Link>(*this, std::move(transport)));
    };
    auto on_refuse = [this](const std::string& peer, const Error& error) {
        environment_.log(LogLevel::err, fmt::format("overlay: refused a connection of {}: {}", peer, error.what()));
    };
    listeners_.push_back(std::make_unique<LinkListener>(loop_, address, keys_, environment_.link, std::move(on_accept),
                                                        std::move(on_refuse)));
    return listeners_.back()->address();
}

Task<Json> Overlay::join(ParentAddress parent) {
    auto transport = co_await connect_link(&loop_, *parent.address, keys_, parent.key, environment_.link);
    parent_ = std::make_unique<Link>(*this, std::move(transport));
    parent_->upward = true;
    parent_->rank = *topology_.parent(environment_.rank);
    auto hello = Message::request("overlay.hello");
    hello.payload = Payload::from_json(Json::object("rank", environment_.rank, "hostname", environment_.hostname,
                                                    "uuid", environment_.uuid, "status", static_cast<int>(status()),
                                                    "proto", protocol, "proto-min", protocol_min));
    parent_->send(std::move(hello));
    hello_answer_.reset();
    while (parent_ && !hello_answer_) co_await hello_done_.wait();
    if (!hello_answer_) throw Error(EHOSTUNREACH, "the parent closed the link before it answered hello");
    hello_answer_->throw_if_failed();
    auto answer = hello_answer_->json().copy();
    parent_->set_uuid(answer.get<std::string>("uuid"));
    parent_->joined = true;
    add(*parent_);
    router_.set_event_sequence(answer.get<std::uint32_t>("sequence"));
    reported_ = status();
    router_.all_subscriptions().for_each([this](const std::string& prefix) { router_.on_subscription(prefix, true); });
    co_return answer;
}

Task<> Overlay::goodbye() {
    leaving_ = true;
    if (!parent_ || !parent_->joined) co_return;
    auto request = Message::request("overlay.goodbye");
    request.set(flag_noresponse);
    parent_->send(std::move(request));
    parent_->flush(flush_limit);
}

Task<> Overlay::children_gone() {
    while (!connected_children().empty()) co_await children_changed_.wait();
}

// Messages of a link --------------------------------------------------------------------------------------------

void Overlay::on_message(Link& link, Message message) {
    if (link.upward && !link.joined) {
        if (message.type == MessageType::response && message.topic == "overlay.hello") {
            hello_answer_ = std::move(message);
            hello_done_.notify_all();
        }
        return;
    }
    if (message.type == MessageType::request && message.service() == "overlay" && !link.upward) {
        auto method = message.method();
        if (method == "hello") return on_hello(link, message);
        if (method == "goodbye") return on_goodbye(link, message);
        if (method == "subscribe") return on_subscribe(link, message);
    }
    if (!link.joined) return; // nothing else is taken before hello
    if (message.type == MessageType::control) {
        if (message.aux1 == control_gone) link.receipts.gone(message.aux2);
        if (message.aux1 == control_status && !link.upward)
            set_child(link.rank, static_cast<SubtreeStatus>(message.aux2), {});
        return;
    }
    if (message.type == MessageType::response) link.tracker.answered(message);
    link.receipts.received(message);
    router_.route(std::move(message), link);
}

void Overlay::on_hello(Link& link, const Message& request) {
    auto refuse = [&](int errnum, const std::string& text) {
        environment_.log(LogLevel::err, "overlay: refused hello: " + text);
        link.send(Message::response_error(request, errnum, text));
    };
    try {
        auto payload = request.json();
        auto rank = payload.get<std::uint32_t>("rank");
        auto hostname = payload.get<std::string>("hostname");
        auto child = children_.find(rank);
        if (link.joined) return;
        if (child == children_.end())
            return refuse(
                EINVAL, fmt::format("rank {} is not a child of rank {}: mismatched config?", rank, environment_.rank));
        if (payload.get<int>("proto") < protocol_min || payload.get<int>("proto-min") > protocol)
            return refuse(EINVAL, fmt::format("{} (rank {}) speaks overlay protocol {} to {}, this broker {} to {}",
                                              hostname, rank, payload.get<int>("proto-min"), payload.get<int>("proto"),
                                              protocol_min, protocol));
        if (!environment_.accepting()) return refuse(EAGAIN, "the instance is shutting down");
        if (child->second.link)
            return refuse(EEXIST, fmt::format("rank {} is here already, from {}", rank, environment_.host_of(rank)));
        link.rank = rank;
        link.set_uuid(payload.get<std::string>("uuid"));
        link.joined = true;
        for (auto stranger = strangers_.begin(); stranger != strangers_.end(); ++stranger) {
            if (stranger->get() != &link) continue;
            child->second.link = std::move(*stranger);
            strangers_.erase(stranger);
            break;
        }
        add(link);
        auto answer = environment_.hello_answer();
        answer.set("uuid", environment_.uuid);
        answer.set("sequence", router_.event_sequence());
        answer.set("proto", protocol);
        auto response = Message::response(request);
        response.payload = Payload::from_json(std::move(answer));
        link.send(std::move(response));
        set_child(rank, static_cast<SubtreeStatus>(payload.get<int>("status")), {});
    } catch (const Error& error) {
        refuse(EPROTO, error.what());
    }
}

void Overlay::on_goodbye(Link& link, const Message&) {
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

void Overlay::on_closed(Link& link, const Error&) {
    if (link.upward) {
        auto lost = std::move(parent_);
        if (lost->joined) {
            router_.remove(*lost);
            for (auto& request : lost->tracker.take_all()) router_.fail(request, EHOSTUNREACH, "overlay disconnect");
        }
        drop(std::move(lost));
        hello_done_.notify_all();
        if (!leaving_) environment_.on_parent_lost("lost connection to the parent");
        return;
    }
    if (link.joined) return child_gone(link.rank, SubtreeStatus::lost, "lost connection");
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

// Status --------------------------------------------------------------------------------------------------------

void Overlay::child_gone(std::uint32_t rank, SubtreeStatus status, const std::string& why) {
    auto& child = children_[rank];
    if (!child.link) return;
    auto link = std::move(child.link);
    router_.remove(*link);
    for (auto& request : link->tracker.take_all()) {
        router_.fail(request, EHOSTUNREACH, fmt::format("{} (rank {}): {}", environment_.host_of(rank), rank, why));
    }
    drop(std::move(link));
    auto ranks = subtree(rank);
    if (status == SubtreeStatus::lost) {
        std::string others;
        if (ranks.count() > 1) others = fmt::format(" and severed contact with {} other nodes", ranks.count() - 1);
        environment_.log(LogLevel::err, fmt::format("{} (rank {}) failed{}", environment_.host_of(rank), rank, others));
    }
    set_child(rank, status, why);
    environment_.on_ranks_gone(ranks);
    children_changed_.notify_all();
}

void Overlay::set_child(std::uint32_t rank, SubtreeStatus status, std::string error) {
    auto& child = children_[rank];
    if (child.status == status && child.error == error) return;
    child.status = status;
    child.error = std::move(error);
    child.since = std::chrono::steady_clock::now();
    monitors_.for_each([&](auto& entry) {
        entry.request.respond(Json::object("rank", rank, "status", to_string(status), "torpid", false));
    });
    status_changed();
}

std::optional<std::uint32_t> Overlay::rank_of(const Endpoint& endpoint) const {
    if (&endpoint == parent_.get()) return parent_->rank;
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
        if (parent_ && parent_->joined)
            parent_->send(Message::control(control_status, static_cast<std::uint32_t>(now)));
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

// Services ------------------------------------------------------------------------------------------------------

Json Overlay::health() const {
    auto now = std::chrono::steady_clock::now();
    auto seconds = [&](auto since) { return std::chrono::duration<double>(now - since).count(); };
    auto children = Json::array();
    for (const auto& [rank, child] : children_) {
        auto entry = Json::object("rank", rank, "status", to_string(child.status), "duration", seconds(child.since));
        if (!child.error.empty()) entry.set("error", child.error);
        children.append(std::move(entry));
    }
    return Json::object("rank", environment_.rank, "status", to_string(status()), "duration", seconds(since_),
                        "children", std::move(children));
}

Json Overlay::topology_json(std::uint32_t rank) const {
    auto children = Json::array();
    for (auto child : topology_.children(rank)) children.append(topology_json(child));
    return Json::object("rank", rank, "size", topology_.descendants(rank) + 1, "children", std::move(children));
}

void Overlay::serve() {
    handle_.serve(Method("overlay.health", MethodClass::stream, role_user), [this](Request request) {
        request.respond(health());
        if (request.streaming()) health_watchers_.add(request);
    });
    handle_.serve(Method("overlay.monitor", MethodClass::stream), [this](Request request) {
        request.require_streaming();
        for (const auto& [rank, child] : children_) {
            if (child.status != SubtreeStatus::offline)
                request.respond(Json::object("rank", rank, "status", to_string(child.status), "torpid", false));
        }
        monitors_.add(request);
    });
    handle_.serve(Method("overlay.topology", MethodClass::read, role_user), [this](Request request) {
        auto rank = request.json().get<std::uint32_t>("rank");
        if (rank != environment_.rank && !children_.contains(rank))
            throw Error(ENOENT, "requested rank is not this broker or its direct child");
        request.respond(topology_json(rank));
    });
    handle_.serve(Method("overlay.disconnect-subtree", MethodClass::once), [this](Request request) {
        auto rank = request.json().get<std::uint32_t>("rank");
        auto child = children_.find(rank);
        if (child == children_.end()) throw Error(ENOENT, "requested rank is not this broker's direct child");
        if (!child->second.link)
            throw Error(EINVAL, fmt::format("rank {} is already {}", rank, to_string(child->second.status)));
        child->second.link->send(Message::control(control_disconnect, 0));
        child->second.link->flush(0s); // as far as it goes: it may have stopped reading
        environment_.log(LogLevel::err,
                         fmt::format("{} (rank {}) disconnected by request", environment_.host_of(rank), rank));
        child_gone(rank, SubtreeStatus::lost, "administrative disconnect");
        request.respond();
    });
    handle_.serve(Method("overlay.stats-get", MethodClass::read, role_user), [this](Request request) {
        std::size_t pending = 0;
        for (const auto& [rank, child] : children_) pending += child.link ? child.link->tracker.size() : 0;
        request.respond(Json::object("child-count", children_.size(), "child-connected", connected_children().count(),
                                     "parent-count", parent_ ? 1 : 0, "parent-rpc",
                                     parent_ ? parent_->tracker.size() : 0, "child-rpc", pending, "interthread",
                                     Json::object("sendq", 0, "recvq", 0)));
    });
    handle_.serve(Method("overlay.disconnect", MethodClass::once, role_user), [this](Request request) {
        health_watchers_.disconnect(request);
        monitors_.disconnect(request);
        environment_.on_disconnect(request);
    });
}

} // namespace flux::broker
