#include "absences.hpp"

#include <algorithm>

namespace flux::job_exec {

void Absences::heard(std::uint32_t rank) {
    joined_.set(rank);
    unasked_.clear(rank);
    away_.erase(rank);
}

void Absences::out_of_reach(std::uint32_t rank, std::string why, Time now) {
    bool by_others = severed(rank);
    away_.insert_or_assign(rank, Absence{now, by_others, by_others ? std::move(why) : std::string()});
}

bool Absences::severed(std::uint32_t rank) const {
    for (auto above = parents_.find(rank); above != parents_.end(); above = parents_.find(above->second))
        if (!online_.test(above->second)) return true;
    return false;
}

Idset Absences::set_online(const Idset& ranks, Time now) {
    auto joining = ranks - online_;
    online_ = ranks;
    // When the broker above is back it takes a moment until those below are.
    for (auto& [rank, absence] : away_)
        if (absence.severed && !severed(rank)) absence = Absence{now, false, {}};
    return back(std::move(joining));
}

Idset Absences::set_torpid(const Idset& ranks, Time now) {
    Idset awake;
    for (const auto& [rank, since] : torpid_)
        if (!ranks.test(rank)) awake.set(rank);
    for (auto rank : awake) torpid_.erase(rank);
    for (auto rank : ranks) torpid_.try_emplace(rank, now);
    return back(awake & online_);
}

Idset Absences::back(Idset ranks) {
    Idset news;
    for (auto rank : ranks)
        if (away_.contains(rank) || given_up_.test(rank) || unasked_.test(rank)) news.set(rank);
    given_up_ -= ranks;
    unasked_ -= ranks;
    return news;
}

Time Absences::end(std::uint32_t rank, const Absence& absence) const {
    if (node_lost_.test(rank)) return absence.since + settings_.node_grace;
    if (!joined_.test(rank)) return begun_ + settings_.rejoin_timeout;
    return absence.since + (absence.severed ? settings_.rejoin_timeout : settings_.broker_grace);
}

std::vector<Absences::Verdict> Absences::verdicts(Time now) {
    std::vector<Verdict> verdicts;
    for (const auto& [rank, absence] : away_)
        if (end(rank, absence) <= now) verdicts.push_back({rank, Loss::broker, absence.why});
    for (const auto& [rank, since] : torpid_) {
        bool late = settings_.torpid_timeout && since + *settings_.torpid_timeout <= now;
        if (late && !given_up_.test(rank)) verdicts.push_back({rank, Loss::torpid, {}});
    }
    for (const auto& verdict : verdicts) {
        away_.erase(verdict.rank);
        given_up_.set(verdict.rank);
    }
    return verdicts;
}

std::optional<Time> Absences::deadline() const {
    std::optional<Time> next;
    auto may_be = [&](Time end) { next = std::min(next.value_or(end), end); };
    for (const auto& [rank, absence] : away_) may_be(end(rank, absence));
    for (const auto& [rank, since] : torpid_)
        if (settings_.torpid_timeout && !given_up_.test(rank)) may_be(since + *settings_.torpid_timeout);
    return next;
}

} // namespace flux::job_exec
