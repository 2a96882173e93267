// How a broker learns who it is and where its peers are (broker.md 7): from the configuration, or from the launcher
// that started it. Blocking; used before the loop runs.
#pragma once

#include "broker/bootstrap/business_card.hpp"
#include "broker/overlay/link/link_keys.hpp"
#include "broker/overlay/topology.hpp"

#include <flux/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::broker {

/// The others, as far as this rank needs to know them before it joins.
class Peers {
public:
    Peers() {}
    std::vector<std::string> hosts;                 ///< of all ranks; may be empty on others than rank 0
    std::optional<BusinessCard> parent;             ///< with the one URI to use
    std::map<std::uint32_t, BusinessCard> children; ///< by rank
};

class Bootstrap {
public:
    class Request {
    public:
        Request() {}
        std::optional<std::string> method; ///< attribute broker.boot-method
        JsonView config;
        std::string hostname;
    };
    /// What decides where a launched broker listens.
    class Listening {
    public:
        Listening() {}
        std::string rundir;
        std::string interface_hint;
        bool prefer_tcp = false;
    };

    /// By the method asked for, else by the first that works. \throws Error
    static std::unique_ptr<Bootstrap> choose(const Request& request);
    virtual ~Bootstrap() = default;

    const std::string& method() const noexcept { return method_; }
    std::uint32_t rank() const noexcept { return rank_; }
    std::uint32_t size() const noexcept { return size_; }
    /// The launcher's name for the job that this instance is.
    virtual std::string job() const { return ""; }
    /// What the launcher tells under a key.
    virtual std::optional<std::string> launcher_value(const std::string&) { return std::nullopt; }
    /// RFC 34 map of ranks to nodes; nothing when it is unknown.
    virtual std::optional<std::string> mapping() const = 0;
    /// For topology `custom`.
    virtual std::vector<std::uint32_t> parents() const { return std::vector<std::uint32_t>(size_, 0); }
    /// Whether this rank has links over tcp://.
    virtual bool needs_keys(const Topology& topology, const Listening& listening) const = 0;
    /// For these links: the key that all brokers share, or a new one.
    virtual LinkKeys make_keys() const { return LinkKeys::generate(); }
    /// The keys by a changed configuration; nothing where they do not come from there. \throws Error
    virtual std::optional<LinkKeys> keys_of(JsonView, const Topology&) const { return std::nullopt; }
    /// Where to listen for the children that this rank has; none without children.
    virtual std::vector<std::string> bind_uris(const Topology& topology, const Listening& listening) = 0;
    /// Exchange cards. Who listens does so by now.
    /// \param own  its URIs are the ones that were bound, ports included.
    virtual Peers meet(const Topology& topology, const BusinessCard& own) = 0;
    /// The URI by which children know this rank; empty without children.
    virtual std::string endpoint(const BusinessCard& own) const { return own.uris.empty() ? "" : own.uris.front(); }

protected:
    std::string method_;
    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 1;
};

} // namespace flux::broker
