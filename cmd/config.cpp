// flux config: see and change the configuration (cli.md 6.21).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/config_files.hpp>
#include <flux/duration.hpp>
#include <flux/paths.hpp>
#include <flux/toml.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>

namespace flux::cmd {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(EINVAL, text); }

// get -----------------------------------------------------------------------------------------------------------

std::string duration_text(JsonView value, std::string_view type, const std::string& key) {
    auto text = value.try_as<std::string>();
    if (!text) refuse(key + " does not have the requested type");
    double seconds = 0;
    try {
        seconds = parse_duration(*text);
    } catch (const Error&) {
        refuse(key + " is not a valid duration");
    }
    if (type == "fsd") return *text;
    if (type == "fsd-integer") return std::to_string(static_cast<std::int64_t>(seconds));
    return fmt::format("{}", seconds);
}

std::string value_text(JsonView value, std::string_view type, const std::string& key) {
    if (type == "fsd" || type == "fsd-integer" || type == "fsd-real") return duration_text(value, type, key);
    if (type != "any" && type != "string" && type != "integer" && type != "real" && type != "boolean" &&
        type != "object" && type != "array")
        refuse("Unknown type: " + std::string(type));
    if (type != "any" && type != value.type_name()) refuse(key + " does not have the requested type");
    return value.is_string() ? value.as<std::string>() : value.dump();
}

int print_value(JsonView config, const options::Parsed& parsed) {
    const std::string key = parsed.operands().empty() ? "" : parsed.operands()[0];
    auto value = key.empty() ? config : config.find(key);
    if (value) {
        fmt::print("{}\n", value_text(value, parsed.get("type", "any"), key));
        return 0;
    }
    if (auto fallback = parsed.find("default")) {
        fmt::print("{}\n", *fallback);
        return 0;
    }
    if (!parsed.has("quiet")) fmt::print(stderr, "{}", parsed.failure_line(key + " is not set"));
    return options::exit_code::failure;
}

Task<int> get(Handle* handle, const options::Parsed* parsed) {
    auto answer = co_await handle->call("config.get");
    co_return print_value(answer.json(), *parsed);
}

int run_get(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    auto given = parsed.find("config-path");
    if (!given) return context.run(&get, &context.handle(), &parsed);
    std::string path(*given);
    if (path == "system" || path == "security" || path == "imp")
        path = *paths::builtin("confdir") + "/" + path + "/conf.d";
    return print_value(read_config(path), parsed);
}

// Changes -------------------------------------------------------------------------------------------------------

/// The value that `text` is, of the type that is asked for or that the old value has.
Json typed_value(const std::string& text, std::string_view type, const std::string& key) {
    if (type == "string") return Json(text);
    if (type == "boolean") {
        const bool off = text.empty() || text == "0" || text[0] == 'f' || text[0] == 'F';
        return Json(!off);
    }
    auto value = Json::parse(text, key);
    if (type == "real" && value.is_integer()) return Json(value.as<double>());
    if (type != "any" && type != value.type_name()) refuse("'" + text + "' is no " + std::string(type));
    return value;
}

Task<int> load(Handle* handle, Json config) {
    co_await handle->call("config.load", std::move(config));
    co_return 0;
}

Task<int> set(Handle* handle, const options::Parsed* parsed) {
    const auto &key = parsed->operands()[0], &text = parsed->operands()[1];
    auto answer = co_await handle->call("config.get");
    auto config = answer.json().copy();
    auto old = config.find(key);
    if (!old && !parsed->has("type")) refuse("Type is unknown, please specify --type");
    std::string type(parsed->get("type", old ? old.type_name() : "any"));
    config.set_path(key, typed_value(text, type, key));
    co_return co_await load(handle, std::move(config));
}

Task<int> unset(Handle* handle, std::string key) {
    auto answer = co_await handle->call("config.get");
    auto config = answer.json().copy();
    JsonRef table = config;
    std::string_view rest = key;
    for (auto dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
        table = table[rest.substr(0, dot)];
        rest.remove_prefix(dot + 1);
    }
    if (!table.erase(rest)) throw Error(ENOENT, key + " is not set");
    co_return co_await load(handle, std::move(config));
}

Task<int> reload(Handle* handle, bool leader_only) {
    if (leader_only) {
        auto rank = co_await handle->get_attr("rank");
        if (rank != "0") co_return 0;
    }
    co_await handle->call("config.reload");
    co_return 0;
}

int run_set(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    return context.run(&set, &context.handle(), &parsed);
}

int run_unset(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return context.run(&unset, &context.handle(), parsed.operands()[0]);
}

int run_load(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    Json config;
    if (!parsed.operands().empty()) {
        config = read_config(parsed.operands()[0]);
    } else {
        std::string text(std::istreambuf_iterator<char>(std::cin), {});
        auto begin = text.find_first_not_of(" \t\n");
        config = begin != text.npos && text[begin] == '{' ? Json::parse(text, "stdin") : parse_toml(text, "stdin");
    }
    return context.run(&load, &context.handle(), std::move(config));
}

int run_reload(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&reload, &context.handle(), parsed.has("follower-noop"));
}

int run_builtin(Context&, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    const auto& name = parsed.operands()[0];
    auto value = paths::builtin(name);
    if (!value) refuse(name + " is invalid");
    fmt::print("{}\n", *value);
    return 0;
}

using options::Value;
constexpr options::Option get_options[] = {
    {.name = "config-path",
     .key = 'c',
     .value = Value::required,
     .argument = "PATH",
     .help = "Get broker config from PATH, or from one of system, security, imp"},
    {.name = "type",
     .key = 't',
     .value = Value::required,
     .argument = "TYPE",
     .help = "Set expected type (any, string, integer, real, boolean, object, array, fsd, fsd-integer, fsd-real)"},
    {.name = "quiet", .key = 'q', .help = "Suppress printing of errors if value is not set"},
    {.name = "default",
     .key = 'd',
     .value = Value::required,
     .argument = "VAL",
     .help = "Set default value to return if config key is not set"},
};
constexpr options::Option set_options[] = {
    {.name = "type",
     .key = 't',
     .value = Value::required,
     .argument = "TYPE",
     .help = "Set the type of a value that is not set yet"},
};
constexpr options::Option reload_options[] = {
    {.name = "follower-noop", .help = "Do nothing if the broker rank is not 0"},
};
constexpr options::Option builtin_options[] = {
    {.name = "intree", .help = "Show values of the build tree, if that is where flux runs from"},
    {.name = "installed", .help = "Show values of the installation, if that is where flux runs from"},
};
constexpr options::Command subcommands[] = {
    {.name = "reload", .help = "Reload broker configuration from files", .options = reload_options, .run = &run_reload},
    {.name = "load", .synopsis = "[PATH]", .help = "Load broker configuration from stdin or PATH", .run = &run_load},
    {.name = "get",
     .synopsis = "[--type=TYPE] [NAME]",
     .help = "Get broker configuration values",
     .options = get_options,
     .run = &run_get},
    {.name = "set",
     .synopsis = "[--type=TYPE] NAME VALUE",
     .help = "Set a broker configuration value",
     .options = set_options,
     .run = &run_set},
    {.name = "unset", .synopsis = "NAME", .help = "Remove a broker configuration value", .run = &run_unset},
    {.name = "builtin",
     .synopsis = "[--intree|--installed] NAME",
     .help = "Print compiled-in Flux configuration values",
     .options = builtin_options,
     .run = &run_builtin},
};

} // namespace

extern const options::Command cmd_config;
const options::Command cmd_config{.name = "config",
                                  .program = "flux-config",
                                  .synopsis = "COMMAND [OPTIONS]",
                                  .help = "Manage configuration",
                                  .subcommands = subcommands};

} // namespace flux::cmd
