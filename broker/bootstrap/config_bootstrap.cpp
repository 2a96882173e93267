#include "broker/bootstrap/config_bootstrap.hpp"

#include <fmt/core.h>

namespace flux::broker {

ConfigBootstrap::ConfigBootstrap(JsonView table, const std::string& hostname) : table_(table) {
    method_ = "config";
    size_ = table_.size();
    rank_ = table_.rank_of(hostname);
}

std::optional<std::string> ConfigBootstrap::mapping() const { return fmt::format("[[0,{},1,1]]", size_); }

bool ConfigBootstrap::needs_keys(const Topology& topology, const Listening&) const {
    auto is_tcp = [](const std::string& uri) { return uri.starts_with("tcp://"); };
    auto parent = topology.parent(rank_);
    return (parent && is_tcp(table_.connect_uri(*parent))) ||
           (!topology.children(rank_).empty() && is_tcp(table_.bind_uri(rank_)));
}

LinkKeys ConfigBootstrap::make_keys() const {
    std::optional<CurveCert> next;
    if (!table_.curve_cert_next().empty()) next = CurveCert::load(table_.curve_cert_next());
    return LinkKeys(CurveCert::load(table_.curve_cert()), next);
}

std::vector<std::string> ConfigBootstrap::bind_uris(const Topology& topology, const Listening&) {
    if (topology.children(rank_).empty()) return {};
    return {table_.bind_uri(rank_)};
}

Peers ConfigBootstrap::meet(const Topology& topology, const BusinessCard& own) {
    Peers peers;
    for (const auto& host : table_.hosts()) peers.hosts.push_back(host.name);
    if (peers.hosts.empty()) peers.hosts.push_back(own.host);
    if (auto rank = topology.parent(rank_)) {
        auto& parent = peers.parent.emplace();
        parent.host = peers.hosts[*rank];
        parent.uris.push_back(table_.connect_uri(*rank));
    }
    return peers;
}

// The bind URI may name an interface, or a name that others do not know.
std::string ConfigBootstrap::endpoint(const BusinessCard& own) const {
    return own.uris.empty() ? "" : table_.connect_uri(rank_);
}

} // namespace flux::broker
