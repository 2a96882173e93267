// The queues of a configuration and the ranks that each may use.
#pragma once

#include <flux/idset.hpp>
#include <flux/json.hpp>
#include <flux/resource_set.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace flux::inventory {

class Queues {
public:
    Queues() {}
    explicit Queues(JsonView config);

    bool empty() const noexcept { return queues_.empty(); }
    bool contains(std::string_view name) const;
    std::vector<std::string> names() const;
    /// The ranks that a queue may use. \throws Error EINVAL `--queue: X: no such queue`
    Idset ranks(const std::string& name, const ResourceSet& resources) const;
    /// The queues that may use all of these ranks, joined by commas.
    std::string of(const Idset& ranks, const ResourceSet& resources) const;

private:
    struct Queue {
        std::string name;
        std::vector<std::string> properties;
    };
    static Idset ranks(const Queue& queue, const ResourceSet& resources);
    std::vector<Queue> queues_;
};

} // namespace flux::inventory
