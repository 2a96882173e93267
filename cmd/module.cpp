// flux module: load, remove, reload, list and look at broker modules (cli.md 6.20).
#include "cmd/trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <unistd.h>

namespace flux::cmd {
namespace {

// Scripts look for the system's texts of these two.
Error with_system_text(const Error& error) {
    bool known = error.errnum() == EEXIST || error.errnum() == ENOENT;
    auto text = errno_text(error.errnum());
    if (!known || std::string_view(error.what()).find("not found in search path") != std::string_view::npos ||
        std::string_view(error.what()).find(text) != std::string_view::npos)
        return error;
    return error.while_doing(text);
}

Task<int> call(Handle* handle, std::string topic, Json payload, std::string what) {
    try {
        co_await handle->call(topic, std::move(payload));
    } catch (const Error& error) {
        throw with_system_text(error).while_doing(what);
    }
    co_return 0;
}

// The broker's working directory is not ours.
std::string absolute(const std::string& module) {
    if (module.find('/') == std::string::npos && !module.ends_with(".so")) return module;
    char real[PATH_MAX];
    if (!::realpath(module.c_str(), real)) throw Error(errno, fmt::format("{}: {}", module, errno_text(errno)));
    return real;
}

/// The name under which `load` of this path registers a module.
std::string name_of(const options::Parsed& parsed, const std::string& path) {
    if (auto given = parsed.find("name")) return std::string(*given);
    auto name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.find('.'));
}

int remove(Context& context, const options::Parsed& parsed, const std::string& name, Json payload) {
    try {
        return context.run(&call, &context.handle(), std::string("module.remove"), std::move(payload),
                           "remove " + name);
    } catch (const Error& error) {
        if (parsed.has("force") && error.errnum() == ENOENT) return 0;
        throw;
    }
}

int run_load(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.empty()) throw parsed.usage_error();
    auto payload = Json::object("path", absolute(words[0]), "args",
                                std::vector<std::string>(words.begin() + 1, words.end()), "exec", parsed.has("exec"));
    if (auto name = parsed.find("name")) payload.set("name", *name);
    return context.run(&call, &context.handle(), std::string("module.load"), std::move(payload), "load " + words[0]);
}

int run_remove(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    const auto& name = parsed.operands()[0];
    auto payload = Json::object("name", name, "cancel", parsed.has("cancel"));
    if (parsed.has("check") || (!parsed.has("force") && ::isatty(STDIN_FILENO))) payload.set("check", true);
    return remove(context, parsed, name, std::move(payload));
}

int run_reload(Context& context, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.empty()) throw parsed.usage_error();
    auto path = absolute(words[0]);
    auto name = name_of(parsed, path);
    // The broker replaces the code of a module that runs inside it without a gap; what is asked for beyond that takes
    // an end and a beginning.
    if (parsed.has("exec") || parsed.has("cancel") || parsed.has("force")) {
        remove(context, parsed, name, Json::object("name", name, "cancel", parsed.has("cancel")));
        return run_load(context, parsed);
    }
    auto payload = Json::object("name", name);
    if (path.find('/') != std::string::npos) payload.set("path", path);
    if (words.size() > 1) payload.set("args", std::vector<std::string>(words.begin() + 1, words.end()));
    return context.run(&call, &context.handle(), std::string("module.reload"), std::move(payload),
                       "reload " + words[0]);
}

Task<int> list(Handle* handle, bool long_form) {
    auto reply = co_await handle->call("module.list");
    if (long_form)
        fmt::print("{:<25.25} {:>4}  {} {:>5} {:>5} {:<8} {}\n", "Module", "Idle", "S", "Sendq", "Recvq", "Service",
                   "Path");
    else
        fmt::print("{:<25.25} {:>4}  {} {:>5} {:>5} {}\n", "Module", "Idle", "S", "Sendq", "Recvq", "Service");
    for (auto mod : reply.json()["mods"].elements()) {
        auto name = mod.get<std::string>("name");
        std::vector<std::string> services;
        for (auto service : mod["services"].elements()) {
            if (service.as<std::string_view>() != name) services.push_back(service.as<std::string>());
        }
        std::sort(services.begin(), services.end());
        std::string joined;
        for (const auto& service : services) joined += joined.empty() ? service : "," + service;
        auto idle = mod.get<int>("idle");
        auto status = mod.get<unsigned>("status");
        char letter = status < 4 ? "IRFX"[status] : '?';
        std::string age = idle > 99 ? "idle" : std::to_string(idle);
        if (long_form && joined.size() > 8) joined = joined.substr(0, 7) + "+";
        fmt::print("{:<25.25} {:>4}  {} {:>5} {:>5} {}", name, age, letter, mod.get_or("sendqueue", 0),
                   mod.get_or("recvqueue", 0),
                   long_form ? fmt::format("{:<8} {}", joined, mod.get<std::string_view>("path")) : joined);
        fmt::print("\n");
    }
    co_return 0;
}

int run_list(Context& context, const options::Parsed& parsed) {
    if (!parsed.operands().empty()) throw parsed.usage_error();
    return context.run(&list, &context.handle(), parsed.has("long"));
}

class StatsRequest {
public:
    StatsRequest() {}
    std::string service;
    std::string topic;
    Json payload = Json::object();
    std::string path;
    double scale = 1;
    std::string type;
};

Task<int> stats(Handle* handle, StatsRequest* request) {
    auto reply = co_await handle->call(request->topic, std::move(request->payload));
    JsonView value = reply.json();
    if (!request->path.empty()) value = value.find(request->path);
    if (!value) throw Error(ENOENT, fmt::format("{}: no such value", request->path));
    if (value.is_integer() && request->type != "double" && request->scale == 1)
        fmt::print("{}\n", value.as<std::int64_t>());
    else if (value.is_number() && request->type == "int")
        fmt::print("{}\n", static_cast<std::int64_t>(value.as<double>() * request->scale));
    else if (value.is_integer() && request->type.empty())
        fmt::print("{}\n", static_cast<std::int64_t>(value.as<double>() * request->scale));
    else if (value.is_number())
        fmt::print("{:f}\n", value.as<double>() * request->scale);
    else
        fmt::print("{}\n", value.dump_indented(1));
    co_return 0;
}

int run_stats(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    const auto& service = parsed.operands()[0];
    if (parsed.has("clear-all")) {
        context.handle().publish(service + ".stats-clear");
        context.handle().flush();
        return 0;
    }
    if (parsed.has("clear"))
        return context.run(&call, &context.handle(), service + ".stats-clear", Json::object(), service);
    StatsRequest request;
    request.topic = service + (parsed.has("rusage") ? ".rusage" : ".stats-get");
    if (auto who = parsed.find("rusage")) request.payload.set("who", *who);
    request.path = parsed.get("parse");
    request.scale = parsed.number<double>("scale", 1);
    request.type = parsed.get("type");
    if (!request.type.empty() && request.type != "int" && request.type != "double")
        throw parsed.usage_error(fmt::format("--type: must be int or double, not '{}'", request.type));
    return context.run(&stats, &context.handle(), &request);
}

Task<int> debug(Handle* handle, std::string service, std::string op, unsigned flags) {
    auto payload = Json::object("op", op, "flags", flags);
    auto reply = co_await handle->call(service + ".debug", std::move(payload));
    fmt::print("0x{:x}\n", reply.json().get<unsigned>("flags"));
    co_return 0;
}

int run_debug(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    std::string op = "setbit";
    unsigned flags = 0;
    auto mask = [&](const char* name) {
        return static_cast<unsigned>(std::strtoul(std::string(parsed.get(name)).c_str(), nullptr, 0));
    };
    if (parsed.has("clear"))
        op = "clr";
    else if (parsed.has("set"))
        op = "set", flags = mask("set");
    else if (parsed.has("setbit"))
        flags = mask("setbit");
    else if (parsed.has("clearbit"))
        op = "clrbit", flags = mask("clearbit");
    return context.run(&debug, &context.handle(), parsed.operands()[0], op, flags);
}

int run_trace_command(Context& context, const options::Parsed& parsed) {
    Trace trace("module.trace", parsed, parsed.get("topic", "*"));
    trace.payload.set("names", parsed.operands());
    auto who = [](JsonView record) {
        return fmt::format("{} {}", record.get<std::string_view>("name"), record.get<std::string_view>("prefix"));
    };
    return context.run(&run_trace, &context.handle(), &trace, static_cast<std::string (*)(JsonView)>(who));
}

using options::Value;
constexpr options::Option load_options[] = {
    {.name = "name", .value = Value::required, .argument = "NAME", .help = "load under another name"},
    {.name = "exec", .help = "run the module in a process of its own"},
};
constexpr options::Option remove_options[] = {
    {.name = "force", .key = 'f', .help = "do not fail when the module is not loaded, do not ask who needs it"},
    {.name = "cancel", .help = "end the module at once"},
    {.name = "check", .help = "refuse when other modules need it"},
};
constexpr options::Option reload_options[] = {
    {.name = "name", .value = Value::required, .argument = "NAME", .help = "the name it is loaded under"},
    {.name = "exec", .help = "remove it and run it in a process of its own"},
    {.name = "force", .key = 'f', .help = "remove it and load it, do not fail when it is not loaded"},
    {.name = "cancel", .help = "end the module at once and load it"},
};
constexpr options::Option list_options[] = {
    {.name = "long", .key = 'l', .help = "show paths"},
};
constexpr options::Option stats_options[] = {
    {.name = "parse", .key = 'p', .value = Value::required, .argument = "OBJ.PATH", .help = "print one value"},
    {.name = "scale", .key = 's', .value = Value::required, .argument = "N", .help = "multiply the value"},
    {.name = "type",
     .key = 't',
     .value = Value::required,
     .argument = "int|double",
     .help = "print the value as this type"},
    {.name = "rusage",
     .key = 'R',
     .value = Value::optional,
     .argument = "self|children|thread",
     .help = "show resource usage"},
    {.name = "clear", .key = 'c', .help = "clear the statistics"},
    {.name = "clear-all", .key = 'C', .help = "clear the statistics on all ranks"},
};
constexpr options::Option debug_options[] = {
    {.name = "clear", .key = 'C', .help = "clear all bits"},
    {.name = "set", .key = 'S', .value = Value::required, .argument = "MASK", .help = "set the bits to MASK"},
    {.name = "setbit", .key = 's', .value = Value::required, .argument = "N", .help = "set bits"},
    {.name = "clearbit", .key = 'c', .value = Value::required, .argument = "N", .help = "clear bits"},
};
constexpr options::Option trace_only[] = {
    {.name = "topic",
     .key = 'T',
     .value = Value::required,
     .argument = "GLOB",
     .help = "Filter output by message topic glob"},
};
constexpr auto module_trace_options = options::join(trace_options, trace_only);
static_assert(options::consistent(module_trace_options));

constexpr options::Command subcommands[] = {
    {.name = "list", .synopsis = "[OPTIONS]", .help = "List loaded modules", .options = list_options, .run = &run_list},
    {.name = "load",
     .synopsis = "[OPTIONS] MODULE [ARGS...]",
     .help = "Load a module",
     .options = load_options,
     .run = &run_load},
    {.name = "remove",
     .synopsis = "[OPTIONS] MODULE",
     .help = "Remove a module",
     .options = remove_options,
     .run = &run_remove},
    {.name = "unload",
     .synopsis = "[OPTIONS] MODULE",
     .help = "Remove a module",
     .options = remove_options,
     .hidden = true,
     .run = &run_remove},
    {.name = "reload",
     .synopsis = "[OPTIONS] MODULE [ARGS...]",
     .help = "Replace the code of a module",
     .options = reload_options,
     .run = &run_reload},
    {.name = "stats",
     .synopsis = "[OPTIONS] SERVICE",
     .help = "Show statistics of a module",
     .options = stats_options,
     .run = &run_stats},
    {.name = "debug",
     .synopsis = "[OPTIONS] SERVICE",
     .help = "Get or set debug bits of a module",
     .options = debug_options,
     .run = &run_debug},
    {.name = "trace",
     .synopsis = "[OPTIONS] [MODULE...]",
     .help = "Display messages sent to and from modules",
     .options = module_trace_options,
     .run = &run_trace_command},
};

} // namespace

extern const options::Command cmd_module;
const options::Command cmd_module{.name = "module",
                                  .program = "flux-module",
                                  .synopsis = "COMMAND [OPTIONS]",
                                  .help = "Manage broker modules",
                                  .subcommands = subcommands};

} // namespace flux::cmd
