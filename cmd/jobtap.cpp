// flux jobtap: list, load, remove and query the plugins of job-manager (cli.md 6.28).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/job_manager_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <filesystem>

namespace flux::cmd {
namespace {

namespace protocol = job_manager_protocol;

// The broker's working directory is not ours.
std::string absolute(const std::string& plugin) {
    if (plugin.find('/') == std::string::npos) return plugin;
    return std::filesystem::absolute(plugin).lexically_normal();
}

/// `KEY=VAL` words: dots in KEY nest, VAL is JSON or else a string.
Json parse_conf(const std::vector<std::string>& words) {
    auto conf = Json::object();
    for (const auto& word : words) {
        auto equals = word.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error(EINVAL, fmt::format("'{}' is not of the form KEY=VAL", word));
        auto text = word.substr(equals + 1);
        Json value(text);
        try {
            value = Json::parse(text, word);
        } catch (const Error&) { // a string as it stands
        }
        conf.set_path(word.substr(0, equals), std::move(value));
    }
    return conf;
}

Task<int> list(Handle* handle, bool all) {
    auto payload = Json::object("query_only", true);
    auto reply = co_await handle->call(protocol::jobtap.topic, std::move(payload));
    for (auto plugin : reply.json()["plugins"].elements()) {
        auto name = plugin.as<std::string_view>();
        if (all || !name.starts_with('.')) fmt::print("{}\n", name);
    }
    co_return 0;
}

/// `plugin` is what is not found when something is not found; empty when that may be several things.
Task<int> change(Handle* handle, Json payload, std::string plugin) {
    std::string missing;
    try {
        co_await handle->call(protocol::jobtap.topic, std::move(payload));
    } catch (const Error& error) {
        if (error.errnum() != ENOENT || plugin.empty()) throw;
        missing = plugin + " not found";
    }
    if (!missing.empty()) throw Error(ENOENT, missing);
    co_return 0;
}

Task<int> query(Handle* handle, std::string plugin) {
    auto payload = Json::object("name", plugin);
    std::string answer;
    try {
        auto reply = co_await handle->call(protocol::jobtap_query.topic, std::move(payload));
        answer = reply.json().dump();
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
    }
    if (answer.empty()) throw Error(ENOENT, plugin + ": plugin not found");
    fmt::print("{}\n", answer);
    co_return 0;
}

int run_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&list, &context.handle(), parsed.has("all"));
}

int run_load(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.empty()) throw parsed.usage_error();
    auto payload = Json::object("load", absolute(words[0]));
    if (words.size() > 1) payload.set("conf", parse_conf({words.begin() + 1, words.end()}));
    auto removal = parsed.find("remove");
    if (removal) payload.set("remove", *removal);
    return context.run(&change, &context.handle(), std::move(payload), removal ? std::string() : words[0]);
}

int run_remove(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    const auto& plugin = parsed.operands()[0];
    return context.run(&change, &context.handle(), Json::object("remove", plugin), plugin);
}

int run_query(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return context.run(&query, &context.handle(), parsed.operands()[0]);
}

using options::Value;
constexpr options::Option list_options[] = {
    {.name = "all", .key = 'a', .help = "list builtin plugins too"},
};
constexpr options::Option load_options[] = {
    {.name = "remove",
     .key = 'r',
     .value = Value::required,
     .argument = "NAME|GLOB|all",
     .help = "remove other plugins before"},
};
constexpr options::Command subcommands[] = {
    {.name = "list", .synopsis = "[-a]", .help = "List loaded plugins", .options = list_options, .run = &run_list},
    {.name = "load",
     .synopsis = "[-r NAME] PLUGIN [KEY=VAL...]",
     .help = "Load a plugin",
     .options = load_options,
     .run = &run_load},
    {.name = "remove", .synopsis = "PLUGIN|GLOB|all", .help = "Remove plugins", .run = &run_remove},
    {.name = "query", .synopsis = "PLUGIN", .help = "Show what a plugin says of itself", .run = &run_query},
};

} // namespace

extern const options::Command cmd_jobtap;
const options::Command cmd_jobtap{.name = "jobtap",
                                  .program = "flux-jobtap",
                                  .synopsis = "COMMAND [OPTIONS]",
                                  .help = "Manage plugins of job-manager",
                                  .subcommands = subcommands,
                                  .family = options::Family::listing};

} // namespace flux::cmd
