// flux shutdown: end the instance (cli.md 6.30).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"
#include "cmd/uri/resolve.hpp"

#include <flux/kvs.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <iostream>
#include <unistd.h>

namespace flux::cmd {
namespace {

constexpr const char* dump_attribute = "content.dump";

enum Level { quiet_level = 4, usual_level = 6, verbose_level = 7 };

Task<> set_dump(Handle* handle, std::string value) {
    co_await handle->call("attr.set", Json::object("name", dump_attribute, "value", value, "force", true));
}

Task<> unset_dump(Handle* handle) {
    try {
        co_await handle->call("attr.rm", Json::object("name", dump_attribute));
    } catch (const Error& error) {
        if (error.errnum() != ENOENT) throw;
    }
}

/// Whether the KVS has grown so much that the user ought to think of garbage.
Task<bool> garbage_is_due(Handle* handle) {
    if (co_await handle->get_attr(dump_attribute)) co_return false;
    auto config = co_await handle->call("config.get");
    auto threshold = config.json().find("kvs.gc-threshold").try_as<std::int64_t>().value_or(0);
    if (threshold <= 0) co_return false;
    auto root = co_await kvs::getroot(*handle, kvs_protocol::primary_namespace);
    co_return root.sequence > threshold;
}

bool ask(const options::Parsed& parsed) {
    if (parsed.has("yes")) return true;
    if (parsed.has("no")) return false;
    if (!::isatty(STDIN_FILENO))
        throw Error(EINVAL, "gc threshold of KVS is exceeded: use --yes or --no, or --gc or --skip-gc");
    fmt::print("gc threshold of KVS is exceeded. Perform offline garbage collection? [Y/n]: ");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
    return line.empty() || line[0] == 'y' || line[0] == 'Y';
}

/// Tell of a dump that there will be.
Task<> announce_dump(Handle* handle) {
    auto path = co_await handle->get_attr(dump_attribute);
    if (!path) co_return;
    if (path == "auto") {
        auto cleanup = co_await handle->get_attr("statedir-cleanup");
        auto directory = co_await handle->get_attr("statedir");
        path = (cleanup == "0" && directory ? *directory : ".") + "/dump/";
    }
    fmt::print("shutdown will dump KVS to {} (this may take some time)\n", *path);
    std::fflush(stdout);
}

Task<int> shutdown(Handle* handle, const options::Parsed* parsed) {
    if (parsed->has("skip-gc"))
        co_await unset_dump(handle);
    else if (parsed->has("gc"))
        co_await set_dump(handle, "auto");
    else if (auto path = parsed->find("dump"))
        co_await set_dump(handle, std::string(*path));
    else if (co_await garbage_is_due(handle) && ask(*parsed))
        co_await set_dump(handle, "auto");

    co_await announce_dump(handle);

    int level = usual_level;
    if (parsed->has("quiet")) level = quiet_level;
    if (parsed->has("verbose")) level = verbose_level;
    auto request = Json::object("loglevel", level);
    if (parsed->has("background")) {
        co_await handle->call("shutdown.start", std::move(request));
        co_return 0;
    }
    auto log = handle->stream("shutdown.start", std::move(request));
    try {
        while (auto answer = co_await log.next()) fmt::print(stderr, "{}", answer->json().get<std::string_view>("log"));
    } catch (const Error& error) {
        if (error.errnum() != ECONNRESET) throw; // that is the end of it
    }
    co_return 0;
}

int run(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    if (parsed.has("gc") && (parsed.has("skip-gc") || parsed.has("dump")))
        throw Error(EINVAL, "--gc cannot be used with --skip-gc or --dump");
    if (parsed.operands().empty()) return context.run(&shutdown, &context.handle(), &parsed);
    auto target = Handle::open(context.loop(), uri::resolve(context, parsed.operands()[0]));
    return context.run(&shutdown, target.get(), &parsed);
}

using options::Value;
constexpr options::Option shutdown_options[] = {
    {.name = "skip-gc", .help = "Skip KVS garbage collection this time, if already enabled"},
    {.name = "gc", .help = "Garbage collect KVS (short for --dump=auto)"},
    {.name = "dump",
     .value = Value::required,
     .argument = "PATH",
     .help = "Dump KVS content to specified archive file using flux-dump(1)."},
    {.name = "background", .help = "Exit the command immediately after initiating shutdown"},
    {.name = "quiet", .help = "Show only log messages <= LOG_WARNING level"},
    {.name = "verbose", .key = 'v', .value = Value::optional, .argument = "LEVEL", .help = "Show all log messages"},
    {.name = "yes", .key = 'y', .help = "Answer yes to any yes/no questions"},
    {.name = "no", .key = 'n', .help = "Answer no to any yes/no questions"},
};
static_assert(options::consistent(shutdown_options));

} // namespace

extern const options::Command cmd_shutdown;
const options::Command cmd_shutdown{.name = "shutdown",
                                    .program = "flux-shutdown",
                                    .synopsis = "[OPTIONS] [TARGET]",
                                    .help = "Shut down the Flux instance",
                                    .options = shutdown_options,
                                    .run = &run};

} // namespace flux::cmd
