#include "broker/bootstrap/config_bootstrap.hpp"

#include <fmt/core.h>

namespace flux::broker {
namespace {

LinkKeys load_keys(const std::string& cert, const std::string& next) {
    std::optional<CurveCert> trusted_besides;
    if (!next.empty()) trusted_besides = CurveCert::load(next);
    return LinkKeys(CurveCert::load(cert), trusted_besides);
}

} // namespace

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

LinkKeys ConfigBootstrap::make_keys() const { return load_keys(table_.curve_cert(), table_.curve_cert_next()); }

// All else in the table needs a restart.
std::optional<LinkKeys> ConfigBootstrap::keys_of(JsonView config, const Topology& topology) const {
    auto cert = config.find("bootstrap.curve_cert").try_as<std::string>();
    auto next = config.find("bootstrap.curve_cert_next").try_as<std::string>();
    if (!cert || !needs_keys(topology, Listening())) return std::nullopt;
    return load_keys(*cert, next.value_or(""));
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
