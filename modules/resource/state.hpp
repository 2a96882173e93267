// What the instance has and how each rank is: a fold over the events of RFC 44.
#pragma once

#include "drain.hpp"

#include <flux/eventlog.hpp>
#include <flux/resource_set.hpp>

#include <optional>
#include <string>

namespace flux::resource {

class State {
public:
    /// \param size   of the instance.  \param hosts  its hosts by rank
    State(std::uint32_t size, Hostlist hosts) : size_(size), hosts_(std::move(hosts)) {}

    /// R, once it is known, and how.
    const ResourceSet& R() const noexcept { return *R_; }
    bool defined() const noexcept { return R_.has_value(); }
    const std::string& method() const noexcept { return method_; }
    /// \throws Error ENOENT while R is unknown
    void require_defined() const;

    /// The R that comes with the next `resource-define`.
    void stage(ResourceSet R) { staged_ = std::move(R); }
    /// R as it is or is about to be. \throws Error ENOENT while unknown
    const ResourceSet& current() const;
    bool known() const noexcept { return R_ || staged_; }
    /// An event has happened. \throws Error EINVAL when it is malformed
    void apply(const EventlogEntry& event);
    /// Take over the drain state of `checkpoint.resource`. Events before the time that is returned are in it.
    double restore(JsonView checkpoint);
    Json checkpoint(double now) const;

    void set_exclude(Idset ranks);
    const Idset& exclude() const noexcept { return exclude_; }
    const DrainTable& drain() const noexcept { return drain_; }
    const Idset& online() const noexcept { return online_; }
    const Idset& torpid() const noexcept { return torpid_; }
    /// Gone from an instance whose resources go with their ranks.
    const Idset& lost() const noexcept { return lost_; }

    /// Every rank of the instance or of R.
    Idset all() const;
    /// May be used for jobs now.
    Idset up() const;
    /// Ranks that no scheduler is told of.
    Idset hidden() const { return exclude_ | lost_; }

    /// Ranks that somebody means by an idset or hostlist. \throws Error EINVAL in the words of drain and exclude
    Idset targets(const std::string& text) const;
    /// Host of a rank; empty when unknown.
    std::string host(Idset::Id rank) const;
    std::string hosts_of(const Idset& ranks) const;
    const Hostlist& hosts() const noexcept { return hosts_; }

private:
    Idset remapped(JsonView context) const;
    Idset remapped(const Idset& ranks, JsonView nodelist) const;

    std::uint32_t size_;
    Hostlist hosts_;
    std::optional<ResourceSet> R_;
    std::optional<ResourceSet> staged_;
    std::string method_;
    DrainTable drain_;
    Idset exclude_;
    Idset online_;
    Idset torpid_;
    Idset lost_;
};

} // namespace flux::resource
