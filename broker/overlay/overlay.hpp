// The links of this broker to its parent and children: sessions that begin with hello, and what follows from
// a link that breaks. Runs on the broker's loop.
#pragma once

#include "broker/overlay/event_ring.hpp"
#include "broker/overlay/link.hpp"
#include "broker/overlay/link/transport.hpp"
#include "broker/overlay/topology.hpp"
#include "broker/overlay/upstream.hpp"
#include "broker/router/router.hpp"

#include <flux/idset.hpp>
#include <flux/task.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux::broker {

/// State of a subtree, as `overlay.health` names it.
enum class SubtreeStatus { unknown = 0, full = 1, partial = 2, degraded = 3, lost = 4, offline = 5 };
const char* to_string(SubtreeStatus status) noexcept;

/// The way to the parent.
class ParentAddress {
public:
    ParentAddress() {}
    std::string host;
    std::optional<Address> address;
    std::optional<PublicKey> key; ///< that it must have; nothing: one that is trusted
};

class Overlay {
public:
    class Environment {
    public:
        Environment() {}
        std::uint32_t rank = 0;
        std::string hostname;
        std::string uuid;
        std::string boot_id;                                  ///< of the host
        std::optional<std::chrono::nanoseconds> hold_timeout; ///< see Upstream
        std::size_t hold_limit = 64 << 20;
        LinkOptions link;
        std::chrono::nanoseconds torpid_min = std::chrono::seconds(5);  ///< heartbeat of an idle link
        std::chrono::nanoseconds torpid_max = std::chrono::seconds(30); ///< silence that makes a peer torpid; 0: none
        std::function<Json()> hello_answer; ///< what a child needs to know: hostlist and the like
        std::function<bool()> accepting;    ///< false: hellos are refused, the instance is ending
        std::function<std::string(std::uint32_t rank)> host_of;
        std::function<void(LogLevel, const std::string&)> log;
        std::function<void(const Idset& ranks)> on_ranks_gone; ///< these left (lost or in order)
        std::function<void(std::uint32_t rank, bool torpid)> on_torpid;
        /// The node of a child is lost or has booted again; false: the child is here.
        std::function<void(std::uint32_t rank, bool lost)> on_node_lost;
        std::function<void(JsonView answer, bool first)>
            on_joined; ///< hello was answered; when not first, open() is next
        std::function<void(const std::string& why)> on_parent_lost; ///< for good
        std::function<void(const Request&)> on_disconnect;          ///< a client of the service `overlay` is gone
    };

    Overlay(Loop& loop, Router& router, Handle& handle, Scope& scope, Topology topology, Environment environment);
    ~Overlay();

    const Topology& topology() const noexcept { return topology_; }
    /// Whom links over tcp:// trust, from now on. To be set before one listens or joins there.
    void set_keys(std::shared_ptr<const LinkKeys> keys);
    /// Accept children there. \return the address with the port that the kernel chose. \throws Error
    Address listen(const Address& address);
    /// Join the parent there: connect and say hello. \throws Error with the refusal
    Task<> join(ParentAddress parent);
    /// The parent serves: requests go up, those that were held first.
    void open();
    /// True while requests go up as they come.
    bool opened() const noexcept { return upstream_ && upstream_->opened(); }
    /// The instance ends: what still waits for the parent fails.
    void give_up(const std::string& why);
    /// This broker will go and come back: ask the children to hold.
    void announce_restart();
    /// Wait until what children have asked is answered.
    Task<> requests_done(std::chrono::nanoseconds limit);
    /// Say goodbye to the parent, so that it does not take the end of this link for a crash.
    Task<> goodbye();
    /// Wait until no child is connected.
    Task<> children_gone();
    bool has_children() const noexcept { return !children_.empty(); }
    Idset connected_children() const;
    SubtreeStatus status() const;
    /// The rank that an endpoint of the router leads to; nothing when it is no link.
    std::optional<std::uint32_t> rank_of(const Endpoint& endpoint) const;

private:
    using Clock = std::chrono::steady_clock;
    struct Child {
        SubtreeStatus status = SubtreeStatus::offline;
        bool torpid = false;
        std::string error;
        std::string boot_id; ///< of its host
        Clock::time_point since = Clock::now();
        std::unique_ptr<Link> link;
    };
    void serve();
    std::unique_ptr<Link> make_link(Link::Kind kind, std::unique_ptr<Transport> transport);
    Json hello() const;
    void joined(JsonView answer);
    void on_parent_message(Link& link, Message message);
    void on_parent_control(const Message& message);
    void on_child_message(Link& link, Message message);
    void on_closed(Link& link, const Error& error);
    void on_hello(Link& link, const Message& request);
    void welcome(Link& link, const Message& request);
    void on_goodbye(Link& link);
    void on_subscribe(Link& link, const Message& request);
    void set_child(std::uint32_t rank, SubtreeStatus status, std::string error);
    void child_gone(std::uint32_t rank, SubtreeStatus status, const std::string& why, bool node_lost = false);
    void set_torpid(std::uint32_t rank, Child& child, bool torpid);
    void beat();
    Clock::time_point keep_up(Link& link, Clock::time_point now);
    bool silent(const Link& link, Clock::time_point now) const;
    void status_changed();
    void path_changed();
    Json path_json() const;
    Json health() const;
    Json topology_json(std::uint32_t rank) const;
    Idset subtree(std::uint32_t rank) const;
    void add(Link& link);
    void drop(std::unique_ptr<Link> link);
    void on_gone(const Message& message);
    std::string name_of(std::uint32_t rank) const;

    Loop& loop_;
    Router& router_;
    Handle& handle_;
    Topology topology_;
    Environment environment_;
    std::shared_ptr<const LinkKeys> keys_;
    std::vector<std::unique_ptr<LinkListener>> listeners_;
    ChannelTransport arrivals_; ///< tells of messages that came over a link and are gone, from whatever thread
    std::uint32_t last_link_ = 0;
    std::unordered_map<std::uint32_t, Link*> links_; ///< after hello, by number
    std::map<std::uint32_t, Child> children_;
    std::vector<std::unique_ptr<Link>> strangers_; ///< connected, hello not yet said
    ParentAddress parent_;
    std::string incarnation_; ///< uuid of the leader that this broker follows
    std::optional<Upstream> upstream_;
    EventRing ring_;
    bool restarting_ = false;
    SubtreeStatus reported_ = SubtreeStatus::unknown;
    Clock::time_point since_ = Clock::now();
    Timer beat_timer_;
    Clock::time_point next_beat_ = Clock::now();
    Condition children_changed_;
    Condition requests_changed_;
    RequestList<int> health_watchers_;
    RequestList<int> monitors_;
    RequestList<int> path_watchers_;
};

} // namespace flux::broker
