// flux R: read, write and compute with resource sets (cli.md 6.33). Needs no broker.
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/config_files.hpp>
#include <flux/resource_config.hpp>
#include <flux/resource_set.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <iostream>
#include <iterator>
#include <limits.h>
#include <unistd.h>

namespace flux::cmd {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(EINVAL, text); }

// Reading -------------------------------------------------------------------------------------------------------

/// The JSON objects that follow each other in a text.
std::vector<std::string_view> split_objects(std::string_view text) {
    std::vector<std::string_view> objects;
    std::size_t depth = 0, begin = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (in_string) {
            if (c == '\\') ++at;
            in_string = c != '"';
            continue;
        }
        if (c == '"') in_string = true;
        if (c == '{' && depth++ == 0) begin = at;
        if (c == '}' && depth > 0 && --depth == 0) objects.push_back(text.substr(begin, at + 1 - begin));
    }
    if (depth > 0) objects.push_back(text.substr(begin)); // cut off: its parser says so
    return objects;
}

std::vector<ResourceSet> read_sets() {
    std::string text(std::istreambuf_iterator<char>(std::cin), {});
    std::vector<ResourceSet> sets;
    for (auto object : split_objects(text)) {
        Json R;
        try {
            R = Json::parse(object, "R");
        } catch (const Error& error) {
            throw Error(error.errnum(), std::string("Failed to read an R object: ") + error.what());
        }
        try {
            sets.push_back(ResourceSet::decode(R));
        } catch (const Error& error) {
            throw Error(error.errnum(), std::string("Failed to decode R on stdin: ") + error.what());
        }
    }
    if (sets.empty()) refuse("Failed to read an R object: stdin is empty");
    return sets;
}

ResourceSet read_union() {
    ResourceSet all;
    for (const auto& set : read_sets()) all = all.united(set);
    return all;
}

int print(const ResourceSet& set) {
    fmt::print("{}\n", set.encode().dump());
    return 0;
}

/// `NAME[:RANKS]`, by default on all ranks.
void set_property(ResourceSet& set, std::string_view text) {
    auto colon = text.find(':');
    auto ranks = set.ranks();
    try {
        if (colon != text.npos) ranks = Idset::parse(text.substr(colon + 1));
        set.set_property(text.substr(0, colon), ranks);
    } catch (const Error& error) {
        throw Error(error.errnum(), std::string("failed to assign properties: ") + error.what());
    }
}

// Subcommands ---------------------------------------------------------------------------------------------------

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = "";
    ::gethostname(name, sizeof name - 1);
    return name;
}

int run_encode(Context&, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    auto hosts = Hostlist::parse(parsed.get("hosts"));
    Idset ranks = Idset::below(hosts.empty() ? 1 : static_cast<Idset::Id>(hosts.size()));
    if (auto given = parsed.find("ranks")) ranks = Idset::parse(*given);
    while (!parsed.has("hosts") && hosts.size() < ranks.count()) hosts.push_back(host_name());
    if (hosts.size() != ranks.count())
        refuse(fmt::format("hostname count in '{}' does not match nranks ({})", parsed.get("hosts"), ranks.count()));
    Children children;
    if (auto cores = parsed.find("cores")) children.set("core", Idset::parse(*cores));
    if (auto gpus = parsed.find("gpus")) children.set("gpu", Idset::parse(*gpus));
    if (!parsed.has("cores") && !parsed.has("gpus")) children.set("core", Idset{0});
    ResourceSet set;
    std::size_t position = 0;
    for (auto rank : ranks) set.add(rank, hosts.at(position++), children);
    for (auto text : parsed.all("property")) set_property(set, text);
    return print(set);
}

int run_append(Context&, const options::Parsed&) {
    ResourceSet all;
    for (const auto& set : read_sets()) all.append(set);
    return print(all);
}

int run_diff(Context&, const options::Parsed&) {
    auto sets = read_sets();
    if (sets.size() < 2) refuse("diff requires at least 2 resource sets");
    for (std::size_t index = 1; index < sets.size(); ++index) sets[0] = sets[0].without(sets[index]);
    return print(sets[0]);
}

int run_intersect(Context&, const options::Parsed&) {
    auto sets = read_sets();
    if (sets.size() < 2) refuse("intersect requires at least 2 resource sets");
    for (std::size_t index = 1; index < sets.size(); ++index) sets[0] = sets[0].common(sets[index]);
    return print(sets[0]);
}

int run_remap(Context&, const options::Parsed&) {
    auto set = read_union();
    set.remap();
    return print(set);
}

int run_rerank(Context&, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto set = read_union();
    try {
        set.rerank(Hostlist::parse(parsed.operands()[0]));
    } catch (const Error& error) {
        const auto expected = set.nnodes();
        if (error.errnum() == EOVERFLOW) refuse(fmt::format("Too many hosts specified (expected {})", expected));
        if (error.errnum() == ENOSPC) refuse(fmt::format("Too few hosts specified (expected {})", expected));
        if (error.errnum() == ENOENT) refuse("failed to find one or more provided hosts in R");
        throw;
    }
    return print(set);
}

int run_set_property(Context&, const options::Parsed& parsed) {
    if (parsed.operands().empty()) throw parsed.usage_error();
    auto set = read_union();
    for (const auto& text : parsed.operands()) set_property(set, text);
    return print(set);
}

ResourceSet with_properties(const ResourceSet& set, const std::vector<std::string>& names) {
    auto ranks = set.ranks();
    for (const auto& name : names) {
        auto found = set.properties().find(name);
        ranks &= found == set.properties().end() ? Idset() : found->second;
    }
    return set.copy_ranks(ranks);
}

int run_decode(Context&, const options::Parsed& parsed) {
    auto set = read_union();
    if (parsed.has("properties")) set = with_properties(set, parsed.list("properties"));
    if (auto include = parsed.find("include")) set = set.copy_ranks(Idset::parse(*include) & set.ranks());
    if (auto exclude = parsed.find("exclude")) set.remove_ranks(Idset::parse(*exclude));
    const bool plain = parsed.has("short") || parsed.has("nodelist") || parsed.has("ranks") || parsed.has("count");
    if (!plain) return print(set);
    if (parsed.has("short")) fmt::print("{}\n", set.summary());
    if (parsed.has("nodelist")) fmt::print("{}\n", set.hosts().encode());
    if (parsed.has("ranks")) fmt::print("{}\n", set.ranks().encode());
    if (auto type = parsed.find("count")) fmt::print("{}\n", set.count(*type));
    return 0;
}

int run_parse_config(Context&, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    auto config = read_config(parsed.operands()[0]);
    try {
        if (!config.contains("resource")) refuse("Object item not found: resource");
        auto set = configured_resources(config["resource"]);
        if (!set) refuse("resource.config or resource.path must be defined");
        return print(*set);
    } catch (const Error& error) {
        throw error.while_doing("Config file error");
    }
}

int run_verify(Context&, const options::Parsed& parsed) {
    auto sets = read_sets();
    if (sets.size() != 2) refuse("Expected two R objects on stdin");
    const auto &expected = sets[0], &actual = sets[1];
    if (actual.nnodes() != 1) refuse("the second R object must have a single rank");
    const auto rank = *actual.ranks().first();
    if (!expected.ranks().test(rank)) refuse(fmt::format("rank {} is not in the first R object", rank));
    if (expected.host(rank) != actual.host(rank))
        refuse(fmt::format("rank {} got hostname '{}', expected '{}'", rank, actual.host(rank), expected.host(rank)));
    auto wanted = expected.copy_ranks(Idset{rank});
    if (auto missing = wanted.without(actual); !missing.empty())
        refuse(fmt::format("rank {} ({}) missing resources: {}", rank, expected.host(rank), missing.summary()));
    if (auto extra = actual.without(wanted); !extra.empty())
        fmt::print(stderr, "{}",
                   parsed.failure_line(
                       fmt::format("rank {} ({}) has extra resources: {}", rank, actual.host(rank), extra.summary())));
    return 0;
}

using options::Value;
constexpr options::Option encode_options[] = {
    {.name = "ranks", .key = 'r', .value = Value::required, .argument = "IDSET", .help = "Assign ranks"},
    {.name = "cores",
     .key = 'c',
     .value = Value::required,
     .argument = "IDS",
     .help = "Assign core ids to each rank in R (default=0)"},
    {.name = "gpus",
     .key = 'g',
     .value = Value::required,
     .argument = "IDS",
     .help = "Assign gpu ids to each rank in R"},
    {.name = "hosts",
     .key = 'H',
     .value = Value::required,
     .argument = "HOSTS",
     .help = "Assign hosts (default is the local host)"},
    {.name = "property",
     .key = 'p',
     .value = Value::required,
     .argument = "NAME[:RANKS]",
     .help = "Set property NAME on RANKS (default: all ranks)"},
};
constexpr options::Option decode_options[] = {
    {.name = "short", .key = 's', .help = "Print short-form representation of R"},
    {.name = "nodelist", .key = 'n', .help = "Print nodelist from R"},
    {.name = "ranks", .key = 'r', .help = "Print ranks idset from R"},
    {.name = "count",
     .key = 'c',
     .value = Value::required,
     .argument = "TYPE",
     .help = "Print count of resources of type in R: core, gpu, node"},
    {.name = "include",
     .key = 'i',
     .value = Value::required,
     .argument = "RANKS",
     .help = "Include only specified ranks"},
    {.name = "exclude", .key = 'x', .value = Value::required, .argument = "RANKS", .help = "Exclude ranks"},
    {.name = "properties",
     .key = 'p',
     .value = Value::required,
     .argument = "LIST",
     .help = "Include only ranks with these properties"},
};
constexpr options::Command subcommands[] = {
    {.name = "encode",
     .synopsis = "[OPTIONS]",
     .help = "Encode simple R object with ranks, cores, gpus, and hostnames",
     .options = encode_options,
     .run = &run_encode},
    {.name = "append", .help = "Emit the union of disjoint R objects on stdin", .run = &run_append},
    {.name = "diff", .help = "Emit set difference of R objects on stdin: R1-R2[-R3...]", .run = &run_diff},
    {.name = "intersect", .help = "Emit set intersection of R objects on stdin", .run = &run_intersect},
    {.name = "remap", .help = "Remap ranks and resource ids of the union of R objects on stdin", .run = &run_remap},
    {.name = "rerank", .synopsis = "HOSTLIST", .help = "Re-rank hosts in R according to HOSTLIST", .run = &run_rerank},
    {.name = "decode",
     .synopsis = "[OPTIONS]",
     .help = "Read the union of R objects on stdin and print a summary or new R",
     .options = decode_options,
     .run = &run_decode},
    {.name = "verify",
     .help = "Read 2 R objects on stdin and verify that the second has what the first expects",
     .run = &run_verify},
    {.name = "set-property",
     .synopsis = "NAME[:RANKS]...",
     .help = "Set properties on ranks",
     .run = &run_set_property},
    {.name = "parse-config",
     .synopsis = "PATH",
     .help = "Read the resource configuration in PATH and emit R",
     .run = &run_parse_config},
};

} // namespace

extern const options::Command cmd_R;
const options::Command cmd_R{.name = "R",
                             .program = "flux-R",
                             .synopsis = "COMMAND [OPTIONS]",
                             .help = "Read, write, and manipulate R objects",
                             .subcommands = subcommands};

} // namespace flux::cmd
