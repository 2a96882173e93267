#include "state.hpp"

#include <fmt/core.h>

#include <cerrno>

namespace flux::resource {

void State::require_defined() const {
    if (!defined()) throw Error(ENOENT, "resources are not known yet");
}

const ResourceSet& State::current() const {
    if (staged_) return *staged_;
    require_defined();
    return *R_;
}

void State::apply(const EventlogEntry& event) {
    JsonView context = event.context;
    auto ids = [&] { return context.get<Idset>("idset"); };
    if (event.name == "resource-define") {
        if (!staged_) return; // one of an earlier run
        R_ = std::move(*staged_);
        staged_.reset();
        method_ = context.get<std::string>("method");
    } else if (event.name == "resource-update") {
        if (R_) R_->expiration = context.get_or("expiration", R_->expiration);
    } else if (event.name == "drain") {
        drain_.drain(remapped(context), event.timestamp, context.get_optional<std::string>("reason"),
                     context.get_or("overwrite", 1));
    } else if (event.name == "undrain") {
        drain_.undrain(remapped(context));
    } else if (event.name == "online") {
        online_ |= ids();
        lost_ -= ids();
    } else if (event.name == "offline") {
        // Where the administrator has listed the nodes they come back.
        if (method_ != "configuration") lost_ |= online_ & ids();
        online_ -= ids();
    } else if (event.name == "torpid") {
        torpid_ |= ids();
    } else if (event.name == "lively") {
        torpid_ -= ids();
    }
}

Idset State::remapped(JsonView context) const {
    try {
        return remapped(context.get<Idset>("idset"), context["nodelist"]);
    } catch (const Error& error) {
        throw Error(EINVAL, fmt::format("malformed drain or undrain event: {}", error.what()));
    }
}

// Ranks may have moved to other hosts since: a drain concerns the host.
Idset State::remapped(const Idset& ranks, JsonView nodelist) const {
    auto hosts = nodelist.as<Hostlist>();
    if (hosts.size() != ranks.count()) throw Error(EINVAL, "nodelist does not fit to idset");
    Idset result;
    auto rank = ranks.begin();
    auto known = all();
    for (auto name : hosts) {
        auto id = *rank++;
        if (known.test(id) && host(id) == name)
            result.set(id);
        else if (auto moved = hosts_.find(name))
            result.set(static_cast<Idset::Id>(*moved));
    }
    return result;
}

double State::restore(JsonView checkpoint) {
    for (auto [key, entry] : checkpoint["drain_state"].members()) {
        auto ranks = remapped(Idset::parse(key), entry["nodelist"]);
        DrainTable::Reason reason = entry.get_optional<std::string>("reason");
        if (reason && reason->empty()) reason.reset();
        drain_.drain(ranks, entry.get<double>("timestamp"), reason, 2);
    }
    return checkpoint.get<double>("timestamp");
}

Json State::checkpoint(double now) const {
    auto hosts = [this](const Idset& ranks) { return hosts_of(ranks); };
    return Json::object("timestamp", now, "drain_state", drain_.to_checkpoint(hosts));
}

void State::set_exclude(Idset ranks) { exclude_ = std::move(ranks); }

Idset State::all() const {
    auto result = Idset::below(size_);
    if (known()) result |= current().ranks();
    return result;
}

Idset State::up() const {
    if (!R_) return {};
    return (R_->ranks() & online_) - torpid_ - drain_.ranks() - hidden();
}

std::string State::host(Idset::Id rank) const {
    if (rank < hosts_.size()) return hosts_.at(rank);
    if (!known()) return {};
    return current().host(rank);
}

std::string State::hosts_of(const Idset& ranks) const {
    Hostlist hosts;
    for (auto rank : ranks) hosts.push_back(host(rank));
    return hosts.encode();
}

Idset State::targets(const std::string& text) const {
    if (auto ids = Idset::try_parse(text)) {
        if (ids->empty()) throw Error(EINVAL, "idset is empty");
        if (!all().includes(*ids)) throw Error(EINVAL, "idset is out of range");
        return *ids;
    }
    auto hosts = Hostlist::try_parse(text);
    if (!hosts) throw Error(EINVAL, "invalid targets: Hostlist cannot be decoded");
    if (!known()) throw Error(EINVAL, "R is unavailable for mapping hostnames to ranks");
    Hostlist unknown;
    Idset result;
    for (auto name : *hosts) {
        Hostlist one;
        one.push_back(name);
        auto ranks = current().ranks_on(one);
        if (ranks.empty()) unknown.push_back(name);
        result |= ranks;
    }
    if (!unknown.empty()) throw Error(EINVAL, fmt::format("invalid targets: invalid hosts: {}", unknown.encode()));
    return result;
}

} // namespace flux::resource
