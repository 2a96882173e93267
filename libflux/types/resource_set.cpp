#include <flux/resource_set.hpp>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <unordered_set>

namespace flux {
namespace {

void merge_group(std::map<Children, Idset>& groups, const Children& children, const Idset& ranks) {
    if (!ranks.empty() && !children.empty()) groups[children] |= ranks;
}

std::string rank_text(Idset::Id rank) { return "rank " + std::to_string(rank); }

} // namespace

void check_property_name(std::string_view name) {
    auto bad = name.find_first_of("^&'\"`|()");
    if (bad != std::string_view::npos)
        throw Error(EINVAL,
                    std::string("invalid character '") + name[bad] + "' in property \"" + std::string(name) + '"');
    if (name.empty()) throw Error(EINVAL, "a property needs a name");
}

std::string ResourceSet::summary() const {
    std::string text;
    for (const auto& group : groups()) {
        if (!text.empty()) text += ' ';
        text += "rank" + group.ranks.encode_with_brackets() + '/' + group.children.summary();
    }
    return text;
}

std::size_t ResourceSet::count(std::string_view type) const noexcept {
    if (type == "node") return nnodes();
    std::size_t sum = 0;
    for (const auto& [children, ranks] : groups_) sum += ranks.count() * children[type].count();
    return sum;
}

std::vector<ResourceSet::Group> ResourceSet::groups() const {
    std::vector<Group> result;
    result.reserve(groups_.size());
    for (const auto& [children, ranks] : groups_) result.push_back({ranks, children});
    std::sort(result.begin(), result.end(),
              [](const Group& a, const Group& b) { return *a.ranks.first() < *b.ranks.first(); });
    return result;
}

const Children& ResourceSet::children(Idset::Id rank) const noexcept {
    static const Children none;
    for (const auto& [children, ranks] : groups_)
        if (ranks.test(rank)) return children;
    return none;
}

const std::string& ResourceSet::host(Idset::Id rank) const noexcept {
    static const std::string none;
    auto found = hosts_.find(rank);
    return found == hosts_.end() ? none : found->second;
}

Hostlist ResourceSet::hosts() const {
    Hostlist result;
    for (const auto& [rank, host] : hosts_) result.push_back(host);
    return result;
}

Idset ResourceSet::ranks_on(const Hostlist& hosts) const {
    std::unordered_set<std::string> wanted;
    for (auto host : hosts) wanted.insert(std::move(host));
    Idset result;
    for (const auto& [rank, host] : hosts_)
        if (wanted.contains(host)) result.set(rank);
    return result;
}

void ResourceSet::set_property(std::string_view name, const Idset& ranks) {
    check_property_name(name);
    if (auto missing = (ranks - ranks_).first())
        throw Error(EINVAL, rank_text(*missing) + " not found in target resource list");
    if (ranks.empty()) return;
    auto found = properties_.find(name);
    if (found == properties_.end()) found = properties_.emplace(name, Idset()).first;
    found->second |= ranks;
}

void ResourceSet::drop_local_properties() {
    std::erase_if(properties_, [](const auto& property) { return property.first.starts_with('+'); });
}

void ResourceSet::set_scheduling(Json value) {
    scheduling_ = value.is_null() ? nullptr : std::make_shared<const Json>(std::move(value));
}

// Adds children to ranks of which some may have children already; nothing overlaps.
void ResourceSet::merge(const Idset& ranks, const Children& children) {
    if (children.empty() || ranks.empty()) return;
    auto fresh = ranks - ranks_;
    if (fresh != ranks) {
        std::vector<std::pair<Children, Idset>> grown;
        for (auto group = groups_.begin(); group != groups_.end();) {
            auto overlap = group->second & ranks;
            if (overlap.empty()) {
                ++group;
                continue;
            }
            group->second -= overlap;
            grown.emplace_back(group->first.united(children), std::move(overlap));
            group = group->second.empty() ? groups_.erase(group) : std::next(group);
        }
        for (const auto& [united, members] : grown) merge_group(groups_, united, members);
    }
    merge_group(groups_, children, fresh);
    ranks_ |= ranks;
}

void ResourceSet::add(Idset::Id rank, std::string_view host, const Children& children) {
    if (this->children(rank).intersects(children))
        throw Error(EEXIST, rank_text(rank) + " has " + this->children(rank).common(children).summary() + " already");
    const auto& known = this->host(rank);
    if (!known.empty() && !host.empty() && known != host)
        throw Error(EINVAL, rank_text(rank) + " is both " + known + " and " + std::string(host));
    if (children.empty()) return;
    merge({rank}, children);
    if (!host.empty()) hosts_[rank] = host;
}

void ResourceSet::check_append(const ResourceSet& other) const {
    if (!ranks_.intersects(other.ranks_)) return;
    for (const auto& [children, ranks] : groups_)
        for (const auto& [others, other_ranks] : other.groups_)
            if (children.intersects(others) && ranks.intersects(other_ranks))
                throw Error(EEXIST, "resources overlap: rank" + (ranks & other_ranks).encode_with_brackets() + '/' +
                                        children.common(others).summary());
    for (auto rank : ranks_& other.ranks_)
        if (!host(rank).empty() && !other.host(rank).empty() && host(rank) != other.host(rank))
            throw Error(EINVAL, rank_text(rank) + " is both " + host(rank) + " and " + other.host(rank));
}

void ResourceSet::append(const ResourceSet& other) {
    check_append(other);
    for (const auto& [children, ranks] : other.groups_) merge(ranks, children);
    for (const auto& [rank, host] : other.hosts_) hosts_.emplace(rank, host);
    for (const auto& [name, ranks] : other.properties_) properties_[name] |= ranks;
    if (!scheduling_) scheduling_ = other.scheduling_;
}

ResourceSet ResourceSet::united(const ResourceSet& other) const {
    auto result = *this;
    result.append(other.without(*this));
    // Ranks that have nothing new there may still have properties there.
    for (const auto& [name, ranks] : other.properties_) result.properties_[name] |= ranks;
    return result;
}

ResourceSet ResourceSet::without(const ResourceSet& other) const {
    auto result = *this;
    result.groups_.clear();
    Idset left;
    for (const auto& [children, ranks] : groups_) {
        auto rest = ranks;
        for (const auto& [others, other_ranks] : other.groups_) {
            auto overlap = rest & other_ranks;
            if (overlap.empty()) continue;
            rest -= overlap;
            merge_group(result.groups_, children.without(others), overlap);
        }
        merge_group(result.groups_, children, rest);
    }
    for (const auto& [children, ranks] : result.groups_) left |= ranks;
    result.keep_only(left);
    return result;
}

ResourceSet ResourceSet::common(const ResourceSet& other) const {
    ResourceSet result;
    auto shared = ranks_ & other.ranks_;
    Idset elsewhere;
    if (!hosts_.empty() && !other.hosts_.empty())
        for (auto rank : shared)
            if (host(rank) != other.host(rank)) elsewhere.set(rank);
    shared -= elsewhere;
    for (const auto& [children, ranks] : groups_) {
        for (const auto& [others, other_ranks] : other.groups_) {
            auto both = children.common(others);
            if (!both.empty()) merge_group(result.groups_, both, ranks & other_ranks & shared);
        }
    }
    for (const auto& [children, ranks] : result.groups_) result.ranks_ |= ranks;
    for (const auto& [rank, host] : hosts_)
        if (result.ranks_.test(rank)) result.hosts_.emplace_hint(result.hosts_.end(), rank, host);
    return result;
}

// All that is kept per rank, without groups.
ResourceSet ResourceSet::described(const Idset& ranks) const {
    ResourceSet result;
    result.ranks_ = ranks_ & ranks;
    for (auto range : result.ranks_.ranges())
        for (auto host = hosts_.lower_bound(range.first); host != hosts_.end() && host->first <= range.last; ++host)
            result.hosts_.emplace_hint(result.hosts_.end(), *host);
    for (const auto& [name, members] : properties_)
        if (auto kept = members & ranks; !kept.empty()) result.properties_.emplace(name, std::move(kept));
    if (!result.empty()) result.scheduling_ = scheduling_;
    return result;
}

ResourceSet ResourceSet::copy_ranks(const Idset& ranks) const {
    auto result = described(ranks);
    for (const auto& [children, members] : groups_) merge_group(result.groups_, children, members & ranks);
    return result;
}

ResourceSet ResourceSet::carve(const std::vector<Group>& parts) const {
    Idset ranks;
    for (const auto& part : parts) ranks |= part.ranks;
    auto result = described(ranks);
    for (const auto& part : parts) merge_group(result.groups_, part.children, part.ranks & result.ranks_);
    return result;
}

void ResourceSet::remove_ranks(const Idset& ranks) {
    for (auto& [children, members] : groups_) members -= ranks;
    keep_only(ranks_ - ranks);
}

// Makes all that is kept per rank agree with the groups.
void ResourceSet::keep_only(const Idset& ranks) {
    std::erase_if(groups_, [](const auto& group) { return group.second.empty(); });
    ranks_ = ranks;
    std::erase_if(hosts_, [&](const auto& host) { return !ranks.test(host.first); });
    for (auto& [name, members] : properties_) members &= ranks;
    std::erase_if(properties_, [](const auto& property) { return property.second.empty(); });
    if (empty()) scheduling_ = nullptr;
}

bool ResourceSet::intersects(const ResourceSet& other) const noexcept {
    if (!ranks_.intersects(other.ranks_)) return false;
    for (const auto& [children, ranks] : groups_)
        for (const auto& [others, other_ranks] : other.groups_)
            if (children.intersects(others) && ranks.intersects(other_ranks)) return true;
    return false;
}

} // namespace flux
