#include "core/request.hpp"

#include <flux/constraint.hpp>
#include <flux/resource_count.hpp>

#include <cerrno>
#include <optional>

namespace flux::sched {
namespace {

constexpr unsigned max_depth = 100;
// Keeps every product of two of them within 64 bits.
constexpr std::uint64_t max_nodes = UINT32_MAX;

[[noreturn]] void fail(const std::string& text) { throw Error(EINVAL, text); }

// The last vertex of each type on a walk over the resource tree, depth first.
struct Walk {
    std::optional<ResourceCount> node, slot, core, gpu;
    std::uint64_t above_node = 1; // product of the counts above the node
    bool slot_above_node = false;
    bool exclusive = false;

    void visit(JsonView vertices, std::uint64_t above, bool below_slot, unsigned depth) {
        if (depth > max_depth) fail("resources are nested too deeply");
        for (auto vertex : vertices.elements()) {
            auto type = vertex["type"].try_as<std::string_view>();
            if (!type) fail("resource without a type");
            if (!vertex["count"]) fail("Object item not found: count");
            auto count = ResourceCount::decode(vertex["count"]);
            if (!count.is_bounded() && !count.is_contiguous())
                fail("RFC 14 count: unbounded range '" + count.encode() + "' with steps cannot be expanded");
            if (*type == "node") {
                above_node = above;
                slot_above_node = below_slot;
            }
            if (*type == "node" || *type == "slot")
                exclusive = exclusive || vertex["exclusive"].try_as<bool>().value_or(false);
            if (*type == "node")
                node = count;
            else if (*type == "slot")
                slot = count;
            else if (*type == "core")
                core = count;
            else if (*type == "gpu")
                gpu = count;
            visit(vertex["with"], std::min(above * count.min(), max_nodes), below_slot || *type == "slot", depth + 1);
        }
    }
};

std::string discrete(const char* what) {
    return std::string(what) + " count specifies discrete valid values that this scheduler does not support; "
                               "use a simple min-max range instead";
}

double duration_of(JsonView jobspec) {
    auto system = jobspec["attributes"]["system"];
    if (jobspec["version"].try_as<std::int64_t>() == 1) {
        if (!system) fail("getting duration: Object item not found: system");
        if (!system["duration"]) fail("getting duration: Object item not found: duration");
    }
    auto duration = system["duration"];
    if (!duration) return 0;
    if (!duration.is_number() || duration.as<double>() < 0)
        fail("getting duration: invalid duration " + duration.dump());
    return duration.as<double>();
}

} // namespace

Request Request::from_jobspec(JsonView jobspec) {
    auto resources = jobspec["resources"];
    if (resources.empty()) fail("jobspec has no resources");
    Walk walk;
    walk.visit(resources, 1, false, 0);
    if (!walk.slot) fail("Unable to determine slot count");
    if (!walk.core) fail("Unable to determine slot size");

    Request request;
    request.duration = duration_of(jobspec);
    request.exclusive = walk.exclusive;
    request.slot_cores = walk.core->min();
    request.slot_gpus = walk.gpu ? walk.gpu->min() : 0;
    if (!walk.slot->is_contiguous()) request.unsupported = discrete("slot");
    Span slots{walk.slot->min(), walk.slot->max()};
    if (walk.node) {
        request.nodes = {std::min(walk.node->min() * walk.above_node, max_nodes),
                         std::min(walk.node->max() * walk.above_node, max_nodes)};
        request.slots_per_node = walk.slot_above_node ? 1 : slots.min;
        if (!walk.node->is_contiguous()) request.unsupported = discrete("node");
    } else if (walk.exclusive) {
        request.nodes = slots;
        request.slots_per_node = 1;
    } else {
        request.slots = slots;
    }
    auto constraint = jobspec.find("attributes.system.constraints");
    if (!constraint.empty()) request.constraint = constraint.dump_sorted();
    return request;
}

} // namespace flux::sched
