#include "cmd/inventory/queues.hpp"

#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>

namespace flux::inventory {

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

} // namespace flux::inventory
