// Giving the ranks of a resource set other numbers.
#include <flux/resource_set.hpp>

#include <cerrno>
#include <deque>
#include <unordered_map>

namespace flux {
namespace {

Idset positions(const Idset& members, const Idset& among) {
    Idset result;
    for (auto range : members.ranges()) {
        auto first = static_cast<Idset::Id>(*among.position(range.first));
        result.set(first, first + range.count() - 1);
    }
    return result;
}

Children renumbered(const Children& children) {
    Children result;
    for (const auto& [type, ids] : children.types())
        result.set(type, type == "gpu" ? ids : Idset::below(static_cast<Idset::Id>(ids.count())));
    return result;
}

} // namespace

void ResourceSet::remap() {
    auto old = std::move(*this);
    *this = ResourceSet();
    for (const auto& [children, ranks] : old.groups_) groups_[renumbered(children)] |= positions(ranks, old.ranks_);
    for (auto& [rank, host] : old.hosts_)
        hosts_.emplace(static_cast<Idset::Id>(*old.ranks_.position(rank)), std::move(host));
    for (const auto& [name, ranks] : old.properties_) properties_[name] = positions(ranks, old.ranks_);
    ranks_ = Idset::below(static_cast<Idset::Id>(old.ranks_.count()));
    starttime = old.starttime;
    expiration = old.expiration;
    nslots = old.nslots;
    scheduling_ = std::move(old.scheduling_);
}

void ResourceSet::rerank(const Hostlist& hosts) {
    if (hosts.size() != nnodes())
        throw Error(
            hosts.size() > nnodes() ? EOVERFLOW : ENOSPC,
            (hosts.size() > nnodes() ? "Too many hosts specified (expected " : "Too few hosts specified (expected ") +
                std::to_string(nnodes()) + ')');
    // Several ranks may share a host: they take its places in order.
    std::unordered_map<std::string, std::deque<Idset::Id>> places;
    Idset::Id place = 0;
    for (auto host : hosts) places[std::move(host)].push_back(place++);
    std::map<Idset::Id, Idset::Id> moved;
    std::map<Idset::Id, std::string> new_hosts;
    for (auto rank : ranks_) {
        auto found = places.find(host(rank));
        if (found == places.end() || found->second.empty())
            throw Error(ENOENT, "failed to find one or more provided hosts in R");
        moved[rank] = found->second.front();
        new_hosts[found->second.front()] = host(rank);
        found->second.pop_front();
    }
    auto renumber = [&](Idset& ranks) {
        Idset result;
        for (auto rank : ranks) result.set(moved.at(rank));
        ranks = std::move(result);
    };
    for (auto& [children, ranks] : groups_) renumber(ranks);
    for (auto& [name, ranks] : properties_) renumber(ranks);
    renumber(ranks_);
    hosts_ = std::move(new_hosts);
}

} // namespace flux
