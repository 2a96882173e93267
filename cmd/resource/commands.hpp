// The subcommands of `flux resource`, and what they share.
#pragma once

#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/resource_set.hpp>

#include <optional>
#include <string>
#include <vector>

namespace flux::cmd::resource {

int run_eventlog(Context& context, const options::Parsed& parsed);
int run_info(Context& context, const options::Parsed& parsed);
int run_list(Context& context, const options::Parsed& parsed);
int run_R(Context& context, const options::Parsed& parsed);
int run_status(Context& context, const options::Parsed& parsed);
/// The listing of `flux resource drain` without targets.
int run_drain_list(Context& context, const options::Parsed& parsed);

/// The queues of a configuration and the properties that each demands of ranks.
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

/// The ranks that `-i, --include` and `-q, --queue` leave of a resource set; unknown ones count for nothing.
Idset selected(const options::Parsed& parsed, const Queues& queues, const ResourceSet& resources);

/// A set of resources where absent ones are told with an empty host name.
ResourceSet decode(JsonView R);

} // namespace flux::cmd::resource
