// The ranks of which nothing can be heard, and when the shells there are given up. Pure: what happens is told, with the
// time, and what follows is asked for.
#pragma once

#include "settings.hpp"
#include "shell_execution.hpp"

#include <flux/idset.hpp>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flux::job_exec {

class Absences {
public:
    class Verdict {
    public:
        std::uint32_t rank;
        Loss loss;
        std::string why; ///< see ShellExecution::on_lost()
    };
    Absences(const Settings& settings, Time now) : settings_(settings), begun_(now) {}

    /// The parents of brokers, as far as they are not this one.
    void set_parents(std::unordered_map<std::uint32_t, std::uint32_t> parents) { parents_ = std::move(parents); }
    /// An agent has told its shells.
    void heard(std::uint32_t rank);
    /// There is no way to this rank. \param why  whose fault it is
    void out_of_reach(std::uint32_t rank, std::string why, Time now);
    /// A rank that can be reached has no agent. That of a host which has booted again will not come by itself.
    void without_agent(std::uint32_t rank) { unasked_.set(rank); }

    /// Members of the groups of these names. \return ranks to say hello to: they are back, and have shells that nothing
    /// was heard of or that were given up
    Idset set_online(const Idset& ranks, Time now);
    Idset set_torpid(const Idset& ranks, Time now);
    void set_node_lost(const Idset& ranks) { node_lost_ = ranks; }

    /// Shells of these ranks are given up now.
    std::vector<Verdict> verdicts(Time now);
    /// When there may be another one.
    std::optional<Time> deadline() const;

private:
    class Absence {
    public:
        Time since;
        bool severed; // because a broker above is
        std::string why;
    };
    bool severed(std::uint32_t rank) const;
    Time end(std::uint32_t rank, const Absence& absence) const;
    Idset back(Idset ranks);

    const Settings& settings_;
    Time begun_;
    std::unordered_map<std::uint32_t, std::uint32_t> parents_;
    Idset joined_; // they have answered since the beginning
    Idset online_;
    Idset node_lost_;
    std::map<std::uint32_t, Absence> away_;
    std::map<std::uint32_t, Time> torpid_; // since when
    Idset given_up_;                       // and not heard of since
    Idset unasked_;                        // they had no agent
};

} // namespace flux::job_exec
