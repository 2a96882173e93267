#include "drain.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cmath>

namespace flux::resource {
namespace {

std::string name_ranks(const Idset& ranks, const char* what) {
    return fmt::format("{} {} {}", ranks.count() == 1 ? "rank" : "ranks", ranks.encode(), what);
}

} // namespace

DrainMode parse_drain_mode(JsonView request, std::string_view text) {
    auto mode = request.get_optional<std::string>("mode");
    if (!mode) return DrainMode::none;
    if (*mode == "update") return DrainMode::update;
    if (*mode == "overwrite") return DrainMode::overwrite;
    if (*mode == "force-overwrite") return DrainMode::force_overwrite;
    throw Error(EINVAL, fmt::format(fmt::runtime(text), *mode));
}

int overwrite_of(DrainMode mode) noexcept {
    switch (mode) {
    case DrainMode::none:
    case DrainMode::update: return 0;
    case DrainMode::overwrite: return 1;
    case DrainMode::force_overwrite: return 2;
    }
    return 0;
}

void DrainTable::drain(const Idset& ranks, double timestamp, const Reason& reason, int overwrite) {
    std::map<Why, Idset> result;
    for (auto& [why, members] : groups_) {
        auto hit = members & ranks;
        auto rest = members - ranks;
        if (!rest.empty()) result[why] |= rest;
        if (hit.empty()) continue;
        auto now = why;
        if (overwrite > 0 || !now.reason) now.reason = reason;
        if (overwrite > 1) now.timestamp = timestamp;
        result[now] |= hit;
    }
    auto fresh = ranks - ranks_;
    if (!fresh.empty()) result[Why{timestamp, reason}] |= fresh;
    groups_ = std::move(result);
    ranks_ |= ranks;
}

void DrainTable::undrain(const Idset& ranks) {
    for (auto& [why, members] : groups_) members -= ranks;
    std::erase_if(groups_, [](const auto& group) { return group.second.empty(); });
    ranks_ -= ranks;
}

Idset DrainTable::explained() const {
    Idset result;
    for (const auto& [why, members] : groups_)
        if (why.reason) result |= members;
    return result;
}

void DrainTable::check_drain(const Idset& ranks, const Idset& excluded, DrainMode mode) const {
    if (mode != DrainMode::none) return;
    auto drained = ranks & explained();
    auto out = ranks & excluded;
    if (!drained.empty() && !out.empty()) throw Error(EEXIST, name_ranks(drained | out, "already drained or excluded"));
    if (!drained.empty()) throw Error(EEXIST, name_ranks(drained, "already drained"));
    if (!out.empty()) throw Error(EINVAL, name_ranks(out, "excluded"));
}

void DrainTable::check_undrain(const Idset& ranks, DrainMode mode) const {
    auto free = ranks - ranks_;
    if (mode == DrainMode::none && !free.empty()) throw Error(EEXIST, name_ranks(free, "not drained"));
}

namespace {

template <class Groups, class Extra> Json describe(const Groups& groups, Extra&& extra) {
    auto result = Json::object();
    // Times differ below the second, what is shown does not.
    std::map<std::pair<double, std::string>, Idset> shown;
    for (const auto& [why, members] : groups) shown[{std::round(why.timestamp), why.reason.value_or("")}] |= members;
    for (const auto& [why, members] : shown) {
        auto entry = Json::object("timestamp", why.first, "reason", why.second);
        extra(entry, members);
        result.set(members.encode(), std::move(entry));
    }
    return result;
}

} // namespace

Json DrainTable::to_json() const {
    return describe(groups_, [](Json&, const Idset&) {});
}

Json DrainTable::to_checkpoint(const std::function<std::string(const Idset&)>& hosts_of) const {
    return describe(groups_, [&](Json& entry, const Idset& members) { entry.set("nodelist", hosts_of(members)); });
}

} // namespace flux::resource
