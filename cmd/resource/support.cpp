#include "cmd/resource/commands.hpp"

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>

#include <algorithm>
#include <cerrno>

namespace flux::cmd::resource {

Queues::Queues(JsonView config) {
    for (auto [name, queue] : config["queues"].members()) {
        auto properties = queue["requires"].try_as<std::vector<std::string>>();
        queues_.push_back({std::string(name), properties.value_or(std::vector<std::string>())});
    }
}

bool Queues::contains(std::string_view name) const {
    return std::any_of(queues_.begin(), queues_.end(), [&](const Queue& queue) { return queue.name == name; });
}

std::vector<std::string> Queues::names() const {
    std::vector<std::string> names;
    for (const auto& queue : queues_) names.push_back(queue.name);
    return names;
}

Idset Queues::ranks(const Queue& queue, const ResourceSet& resources) {
    auto ranks = resources.ranks();
    for (const auto& property : queue.properties) {
        auto found = resources.properties().find(property);
        ranks &= found == resources.properties().end() ? Idset() : found->second;
    }
    return ranks;
}

Idset Queues::ranks(const std::string& name, const ResourceSet& resources) const {
    for (const auto& queue : queues_)
        if (queue.name == name) return ranks(queue, resources);
    throw Error(EINVAL, "--queue: " + name + ": no such queue");
}

std::string Queues::of(const Idset& wanted, const ResourceSet& resources) const {
    std::string text;
    for (const auto& queue : queues_)
        if (ranks(queue, resources).includes(wanted)) text += text.empty() ? queue.name : "," + queue.name;
    return text;
}

Idset selected(const options::Parsed& parsed, const Queues& queues, const ResourceSet& resources) {
    auto ranks = resources.ranks();
    if (auto include = parsed.find("include")) {
        if (auto ids = Idset::try_parse(*include))
            ranks &= *ids;
        else
            ranks &= resources.ranks_on(Hostlist::parse(*include));
    }
    if (!parsed.has("queue")) return ranks;
    Idset of_queues;
    for (const auto& name : parsed.list("queue")) of_queues |= queues.ranks(name, resources);
    return ranks & of_queues;
}

ResourceSet decode(JsonView R) {
    // An empty set is written with one empty host name, which no rank has.
    if (R["execution"]["R_lite"].empty()) return {};
    return ResourceSet::decode(R);
}

} // namespace flux::cmd::resource
