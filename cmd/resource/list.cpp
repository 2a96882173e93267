// flux resource list, info, R: what the scheduler has
#include "cmd/formats.hpp"
#include "cmd/resource/commands.hpp"
#include "cmd/resource/merge.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <map>
#include <set>

namespace flux::cmd::resource {
namespace {

using inventory::Inventory;

constexpr output::NamedFormat formats[] = {
    {"default", "Default format for flux-resource list",
     "{state:>10} ?+:{queue:<5} ?:{propertiesx:<10.10+} {nnodes:>6} +:{ncores:>6} ?+:{ngpus:>5} {nodelist}"},
    {"rlist", "Format including resource list details",
     "{state:>10} ?+:{queue:<5} ?:{propertiesx:<10.10+} {nnodes:>6} +:{ncores:>6} ?+:{ngpus:>5} {rlist}"},
};
constexpr std::string_view other_tables[] = {"status", "drain"};
constexpr output::FormatSource format_source = {.base = "flux-resource",
                                                .table = "list.formats",
                                                .environment = "FLUX_RESOURCE_LIST_FORMAT_DEFAULT",
                                                .builtins = formats,
                                                .other_keys = other_tables};

constexpr std::string_view node_fields[] = {"nnodes", "ncores", "ngpus", "ranks", "nodelist", "rlist"};

Inventory inventory_of(Context& context, const options::Parsed& parsed) {
    Inventory inventory;
    context.run(&inventory::fetch_inventory, &context.handle(), &inventory);
    inventory.restrict(selected(parsed, inventory.queues(), inventory.of("all")));
    return inventory;
}

/// Resources that differ in nothing that is shown but where they are.
struct Line {
    std::string state;
    std::string queue;
    std::string properties;
    std::string properties_without_queues;
    ResourceSet resources;

    output::Value field(std::string_view name) const {
        auto number = [](std::size_t count) { return static_cast<std::int64_t>(count); };
        if (name == "state") return state;
        if (name == "queue") return queue;
        if (name == "properties") return properties;
        if (name == "propertiesx") return properties_without_queues;
        if (name == "nnodes") return number(resources.nnodes());
        if (name == "ncores") return number(resources.count("core"));
        if (name == "ngpus") return number(resources.count("gpu"));
        if (name == "ranks") return resources.ranks().encode_with_brackets();
        if (name == "nodelist") return resources.hosts().encode();
        return resources.summary();
    }
};

std::optional<std::string> heading(std::string_view name) {
    if (name == "state") return "STATE";
    if (name == "queue") return "QUEUE";
    if (name == "properties" || name == "propertiesx") return "PROPERTIES";
    if (name == "nnodes") return "NNODES";
    if (name == "ncores") return "NCORES";
    if (name == "ngpus") return "NGPUS";
    if (name == "ranks") return "RANKS";
    if (name == "nodelist") return "NODELIST";
    if (name == "rlist") return "LIST";
    return std::nullopt;
}

/// Groups of ranks that have the same properties.
std::map<std::set<std::string>, Idset> by_properties(const ResourceSet& resources) {
    std::map<std::set<std::string>, Idset> groups;
    auto rest = resources.ranks();
    while (auto rank = rest.first()) {
        std::set<std::string> names;
        auto same = rest;
        for (const auto& [name, ranks] : resources.properties()) {
            if (ranks.test(*rank)) {
                names.insert(name);
                same &= ranks;
            } else {
                same -= ranks;
            }
        }
        groups[names] |= same;
        rest -= same;
    }
    return groups;
}

std::string join(const std::set<std::string>& names, const Queues* without) {
    std::string text;
    for (const auto& name : names)
        if (!without || !without->contains(name)) text += text.empty() ? name : "," + name;
    return text;
}

std::vector<Line> lines_of(const std::string& state, const ResourceSet& resources, const Queues& queues,
                           bool with_empty) {
    std::vector<Line> lines;
    for (const auto& [names, ranks] : by_properties(resources))
        lines.push_back({state, queues.of(ranks, resources), join(names, nullptr), join(names, &queues),
                         resources.copy_ranks(ranks)});
    if (!lines.empty() || !with_empty) return lines;
    for (const auto& queue : queues.names()) lines.push_back({state, queue, "", "", {}});
    if (queues.empty()) lines.push_back({state, "", "", "", {}});
    return lines;
}

} // namespace

int run_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto format = choose_format(format_source, parsed, &heading);
    if (!format) return 0;
    auto states = parsed.list("states");
    if (states.empty()) states = {"free", "allocated", "down"};
    auto inventory = inventory_of(context, parsed);
    const bool with_empty = !parsed.has("skip-empty") && (!parsed.has("include") || parsed.has("no-skip-empty"));
    std::vector<Line> lines;
    for (const auto& state : states)
        for (auto& line : lines_of(state, inventory.of(state), inventory.queues(), with_empty))
            lines.push_back(std::move(line));
    lines = merge_lines(std::move(lines), *format, node_fields,
                        [](Line& into, const Line& line) { into.resources = into.resources.united(line.resources); });
    std::vector<output::Row> rows;
    for (const auto& line : lines) rows.push_back([&line](std::string_view name) { return line.field(name); });
    print_listing(*format, rows, !parsed.has("no-header"));
    return 0;
}

int run_info(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto states = parsed.list("states");
    if (states.empty()) states = {"all"};
    auto inventory = inventory_of(context, parsed);
    for (const auto& state : states) {
        const auto& set = inventory.of(state);
        auto counted = [&](std::size_t count, const char* what) {
            return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
        };
        fmt::print("{}, {}, {}\n", counted(set.nnodes(), "Node"), counted(set.count("core"), "Core"),
                   counted(set.count("gpu"), "GPU"));
    }
    return 0;
}

int run_R(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto states = parsed.list("states");
    if (states.empty()) states = {"all"};
    auto inventory = inventory_of(context, parsed);
    ResourceSet set;
    for (const auto& state : states) set = set.united(inventory.of(state));
    fmt::print("{}\n", set.encode().dump());
    return 0;
}

} // namespace flux::cmd::resource
