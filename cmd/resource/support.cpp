#include "cmd/resource/commands.hpp"

#include <flux/hostlist.hpp>
#include <flux/idset.hpp>

namespace flux::cmd::resource {

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

} // namespace flux::cmd::resource
