// The links of this broker to its parent and children: sessions that begin with hello, and what follows from
// a link that breaks. Runs on the broker's loop.
#pragma once

#include "broker/overlay/link/transport.hpp"
#include "broker/overlay/topology.hpp"
#include "broker/router/router.hpp"
#include "broker/router/rpc_tracker.hpp"

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
        LinkOptions link;                   ///< how long links may take
        std::function<Json()> hello_answer; ///< what a child needs to know: hostlist and the like
        std::function<bool()> accepting;    ///< false: hellos are refused, the instance is ending
        std::function<std::string(std::uint32_t rank)> host_of;
        std::function<void(LogLevel, const std::string&)> log;
        std::function<void(const Idset& ranks)> on_ranks_gone; ///< these left (lost or in order)
        std::function<void(const std::string& why)> on_parent_lost;
        std::function<void(const Request&)> on_disconnect; ///< a client of the service `overlay` is gone
    };

    Overlay(Loop& loop, Router& router, Handle& handle, Topology topology, Environment environment);
    ~Overlay();

    const Topology& topology() const noexcept { return topology_; }
    /// Whom links over tcp:// trust, from now on. To be set before one listens or joins there.
    void set_keys(std::shared_ptr<const LinkKeys> keys);
    /// Accept children there. \return the address with the port that the kernel chose. \throws Error
    Address listen(const Address& address);
    /// Join the parent there: connect and say hello. \return its answer. \throws Error with the refusal
    Task<Json> join(ParentAddress parent);
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
    class Link;
    struct Child {
        SubtreeStatus status = SubtreeStatus::offline;
        std::string error;
        std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
        std::unique_ptr<Link> link;
    };
    void serve();
    void on_message(Link& link, Message message);
    void on_closed(Link& link, const Error& error);
    void on_hello(Link& link, const Message& request);
    void on_goodbye(Link& link, const Message& request);
    void on_subscribe(Link& link, const Message& request);
    void set_child(std::uint32_t rank, SubtreeStatus status, std::string error);
    void child_gone(std::uint32_t rank, SubtreeStatus status, const std::string& why);
    void status_changed();
    Json health() const;
    Json topology_json(std::uint32_t rank) const;
    Idset subtree(std::uint32_t rank) const;
    void add(Link& link);
    void drop(std::unique_ptr<Link> link);
    void on_gone(const Message& message);

    Loop& loop_;
    Router& router_;
    Handle& handle_;
    Topology topology_;
    Environment environment_;
    std::vector<std::unique_ptr<LinkListener>> listeners_;
    std::shared_ptr<const LinkKeys> keys_;
    ChannelTransport arrivals_; ///< tells of messages that came over a link and are gone, from whatever thread
    std::uint32_t last_link_ = 0;
    std::unordered_map<std::uint32_t, Link*> links_; ///< after hello, by number
    std::map<std::uint32_t, Child> children_;
    std::vector<std::unique_ptr<Link>> strangers_; ///< connected, hello not yet said
    std::unique_ptr<Link> parent_;
    std::optional<Message> hello_answer_;
    Condition hello_done_;
    bool leaving_ = false;
    SubtreeStatus reported_ = SubtreeStatus::unknown;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    Condition children_changed_;
    RequestList<int> health_watchers_;
    RequestList<int> monitors_;
};

} // namespace flux::broker
