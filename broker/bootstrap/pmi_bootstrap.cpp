#include "broker/bootstrap/pmi_bootstrap.hpp"

#include "broker/bootstrap/local_network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace flux::broker {
namespace {

bool is_ipc(const std::string& uri) { return uri.starts_with("ipc://"); }

} // namespace

PmiBootstrap::PmiBootstrap(const std::vector<std::string>& methods) {
    pmi::SessionOptions options;
    options.methods = methods;
    options.trace = std::getenv("FLUX_PMI_DEBUG") != nullptr;
    session_ = pmi::open_session(options);
    method_ = session_->method;
    rank_ = session_->rank;
    size_ = session_->size;
    if (size_ == 1) return;
    auto map = session_->find("flux.taskmap");
    if (!map) map = session_->find("PMI_process_mapping");
    if (!map) return;
    try {
        // A map of fewer ranks begins again with its first node (MPICH).
        const auto pattern = Taskmap::parse(*map);
        nodes_ = pattern;
        for (auto rank = pattern.ntasks(); pattern.known() && rank < size_; ++rank)
            nodes_.append(*pattern.node_of(rank % pattern.ntasks()), 1, 1);
    } catch (const Error&) {
        // Some launcher's own way to say it: as unknown as if it had said nothing.
    }
}

std::optional<std::string> PmiBootstrap::launcher_value(const std::string& key) {
    if (method_ == "single") return std::nullopt;
    return session_->find(key);
}

std::optional<std::string> PmiBootstrap::mapping() const {
    if (size_ == 1) return "[[0,1,1,1]]";
    return nodes_.known() ? std::optional(nodes_.encode()) : std::nullopt;
}

bool PmiBootstrap::same_node(std::uint32_t peer) const {
    auto own = nodes_.node_of(rank_);
    return own && own == nodes_.node_of(peer);
}

bool PmiBootstrap::needs_keys(const Topology& topology, const Listening& listening) const {
    auto remote = [&](std::uint32_t peer) { return listening.prefer_tcp || !same_node(peer); };
    auto parent = topology.parent(rank_);
    const auto& children = topology.children(rank_);
    return (parent && remote(*parent)) || std::any_of(children.begin(), children.end(), remote);
}

std::vector<std::string> PmiBootstrap::bind_uris(const Topology& topology, const Listening& listening) {
    const auto& children = topology.children(rank_);
    if (children.empty()) return {};
    auto local = std::count_if(children.begin(), children.end(), [this](auto child) { return same_node(child); });
    if (listening.prefer_tcp) local = 0;
    std::vector<std::string> uris;
    if (local < static_cast<std::ptrdiff_t>(children.size())) {
        auto number = LocalNetwork::read().choose(listening.interface_hint, std::getenv("FLUX_IPADDR_V6") != nullptr);
        uris.push_back(number.find(':') == number.npos ? fmt::format("tcp://{}:*", number)
                                                       : fmt::format("tcp://[{}]:*", number));
    }
    if (local > 0) uris.push_back(fmt::format("ipc://{}/tbon-{}", listening.rundir, rank_));
    return uris;
}

BusinessCard PmiBootstrap::card_of(std::uint32_t rank) {
    return BusinessCard::parse(session_->get(std::to_string(rank)));
}

Peers PmiBootstrap::meet(const Topology& topology, const BusinessCard& own) {
    Peers peers;
    if (size_ == 1) {
        peers.hosts.push_back(own.host);
        session_->finalize();
        return peers;
    }
    session_->put(std::to_string(rank_), own.to_string());
    session_->barrier();
    if (auto rank = topology.parent(rank_)) {
        auto& parent = peers.parent.emplace(card_of(*rank));
        auto usable = std::stable_partition(parent.uris.begin(), parent.uris.end(),
                                            [&](const std::string& uri) { return is_ipc(uri) && same_node(*rank); });
        if (usable == parent.uris.begin()) usable = std::remove_if(parent.uris.begin(), parent.uris.end(), is_ipc);
        parent.uris.erase(usable, parent.uris.end());
        if (parent.uris.empty())
            throw Error(EHOSTUNREACH, fmt::format("parent {} (rank {}) listens nowhere that rank {} can reach",
                                                  parent.host, *rank, rank_));
    }
    for (auto child : topology.children(rank_)) peers.children.emplace(child, card_of(child));
    for (std::uint32_t rank = 0; rank_ == 0 && rank < size_; ++rank)
        peers.hosts.push_back(rank == 0 ? own.host : card_of(rank).host);
    session_->finalize();
    return peers;
}

} // namespace flux::broker
