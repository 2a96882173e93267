// Resource sets: R version 1 (RFC 20), what an instance owns and what a job was given.
#pragma once

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flux {

/// Resources below one rank: ids by type (`core`, `gpu`, …), none of them empty.
class Children {
public:
    /// `core` comes first, the others follow by name.
    struct Order {
        using is_transparent = void;
        bool operator()(std::string_view a, std::string_view b) const noexcept;
    };
    using Map = std::map<std::string, Idset, Order>;

    Children() = default;
    /// Empty id sets are dropped.
    explicit Children(Map types);

    bool empty() const noexcept { return types_.empty(); }
    const Map& types() const noexcept { return types_; }
    /// The ids of a type; the empty set when there are none.
    const Idset& operator[](std::string_view type) const noexcept;
    void set(std::string_view type, Idset ids);

    Children united(const Children& other) const;
    Children without(const Children& other) const;
    Children common(const Children& other) const;
    bool intersects(const Children& other) const noexcept;

    /// `core[0-3],gpu0`
    std::string summary() const;

    bool operator==(const Children&) const = default;
    /// Some total order, for maps.
    bool operator<(const Children& other) const noexcept;

private:
    Map types_;
};

/// A set of resources on ranks. Ranks with equal children are kept together, so a uniform cluster of any size is one
/// group, and algebra costs groups, not ranks. Only host names are kept rank by rank.
class ResourceSet {
public:
    struct Group {
        Idset ranks;
        Children children;
    };

    ResourceSet() = default;
    /// \throws Error EINVAL saying what is wrong, in the words of the reference where it has some.
    static ResourceSet decode(JsonView R);
    /// decode() of a text. \throws Error EPROTO, EINVAL
    static ResourceSet parse(std::string_view text);

    Json encode() const;
    /// For people and annotations: `rank[0-1]/core[0-3],gpu0 rank3/core[0-3]`
    std::string summary() const;

    bool empty() const noexcept { return ranks_.empty(); }
    const Idset& ranks() const noexcept { return ranks_; }
    std::size_t nnodes() const noexcept { return ranks_.count(); }
    /// Number of resources of a type; `node` counts ranks.
    std::size_t count(std::string_view type) const noexcept;
    /// The groups ordered by their lowest rank.
    std::vector<Group> groups() const;
    /// Empty for a rank that is not in the set.
    const Children& children(Idset::Id rank) const noexcept;

    /// Empty when unknown: R without nodelist is accepted.
    const std::string& host(Idset::Id rank) const noexcept;
    /// Hosts in the order of ranks.
    Hostlist hosts() const;
    /// Every rank on one of these hosts.
    Idset ranks_on(const Hostlist& hosts) const;

    using Properties = std::map<std::string, Idset, std::less<>>;
    const Properties& properties() const noexcept { return properties_; }
    /// Give ranks a property. \throws Error EINVAL for a bad name or a rank that is not in the set.
    void set_property(std::string_view name, const Idset& ranks);
    /// Drop the properties that concern this instance only (`+name`).
    void drop_local_properties();

    /// Seconds since the epoch; 0 when unset.
    double starttime = 0;
    double expiration = 0;
    /// Slots of an allocation; 0 for inventories.
    std::int64_t nslots = 0;

    /// What the scheduler keeps in R for itself; nothing when there is none.
    JsonView scheduling() const noexcept { return scheduling_ ? JsonView(*scheduling_) : JsonView(); }
    /// JSON null removes it.
    void set_scheduling(Json value);

    /// Add resources to a rank, which may be new; `host` may be empty.
    /// \throws Error EEXIST when one is there already, EINVAL when the rank has another host.
    void add(Idset::Id rank, std::string_view host, const Children& children);

    /// Add another set to this. \throws Error EEXIST when they overlap, EINVAL when a rank has two hosts; nothing
    /// changes then.
    void append(const ResourceSet& other);
    /// All that is in either.
    ResourceSet united(const ResourceSet& other) const;
    /// What is here and not there; ranks without anything left are gone.
    ResourceSet without(const ResourceSet& other) const;
    /// What is in both. Ranks with different hosts have nothing in common; properties and times are not carried.
    ResourceSet common(const ResourceSet& other) const;
    /// Whole ranks. Times and slots, which belong to an allocation, are not carried.
    ResourceSet copy_ranks(const Idset& ranks) const;
    /// Parts of this set as an allocator chose them: children are taken as given, hosts, properties and scheduling are
    /// those that the ranks have here.
    ResourceSet carve(const std::vector<Group>& parts) const;
    /// All but whole ranks.
    void remove_ranks(const Idset& ranks);
    bool intersects(const ResourceSet& other) const noexcept;

    /// Renumber ranks, and per rank the ids of every type but `gpu`, to 0, 1, ….
    void remap();
    /// Renumber ranks so that a rank is the place of its host in `hosts`.
    /// \throws Error EOVERFLOW (too many hosts), ENOSPC (too few), ENOENT (a host is missing)
    void rerank(const Hostlist& hosts);

private:
    void merge(const Idset& ranks, const Children& children);
    void check_append(const ResourceSet& other) const;
    void keep_only(const Idset& ranks);
    ResourceSet described(const Idset& ranks) const;

    // Keyed by what the ranks have, so that equal ranks find each other.
    std::map<Children, Idset> groups_;
    Idset ranks_;
    std::map<Idset::Id, std::string> hosts_; // empty when the set has no node list
    Properties properties_;
    std::shared_ptr<const Json> scheduling_; // never null JSON
};

/// Whether a property may have this name. \throws Error EINVAL naming the character.
void check_property_name(std::string_view name);

} // namespace flux
