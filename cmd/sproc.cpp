// flux sproc: look at and signal the processes of subprocess servers (cli.md 6.25).
#include "cmd/context.hpp"
#include "cmd/formats.hpp"
#include "cmd/options/parse.hpp"

#include <flux/parse_integer.hpp>
#include <flux/rexec.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <sys/wait.h>

namespace flux::cmd {
namespace {

rexec::Server server_of(const options::Parsed& parsed) {
    rexec::Server server;
    server.service(std::string(parsed.get("service", rexec_protocol::default_service)));
    if (parsed.has("rank")) server.rank(parsed.number<std::uint32_t>("rank", 0));
    return server;
}

rexec::ProcessName name_of(const std::string& text) {
    if (auto pid = parse_integer<pid_t>(text)) return rexec::ProcessName(*pid);
    return rexec::ProcessName(text);
}

// ps ------------------------------------------------------------------------------------------------------------

Task<int> get_list(Handle* handle, rexec::Server server, std::vector<rexec::ProcessInfo>* into) {
    *into = co_await rexec::list(*handle, server);
    co_return 0;
}

std::optional<std::string> heading(std::string_view field) {
    if (field == "pid") return "PID";
    if (field == "state") return "ST";
    if (field == "label") return "LABEL";
    if (field == "rank") return "RANK";
    if (field == "cmd") return "COMMAND";
    return std::nullopt;
}

output::Value value_of(const rexec::ProcessInfo& info, std::string_view field) {
    if (field == "pid") return std::int64_t(info.pid);
    if (field == "state") return info.state;
    if (field == "label") return info.label;
    if (field == "rank") return std::int64_t(info.rank);
    return info.command;
}

constexpr output::NamedFormat formats[] = {
    {"default", "Default flux-sproc ps format string", "{pid:>9} {state:<2} {label:<12} {cmd}"},
};

int run_ps(Context& context, const options::Parsed& parsed) {
    output::FormatSource source{.base = "flux-sproc",
                                .table = "ps.formats",
                                .environment = "FLUX_SPROC_PS_FORMAT_DEFAULT",
                                .builtins = formats};
    auto format = choose_format(source, parsed, heading);
    if (!format) return 0;
    std::vector<rexec::ProcessInfo> list;
    context.run(&get_list, &context.handle(), server_of(parsed), &list);
    std::vector<output::Row> rows;
    for (const auto& info : list) rows.push_back([&info](std::string_view field) { return value_of(info, field); });
    print_listing(*format, rows, !parsed.has("no-header"));
    return 0;
}

// kill, wait ----------------------------------------------------------------------------------------------------

Task<int> wait(Handle* handle, rexec::Server server, rexec::ProcessName process, bool output) {
    auto result = co_await rexec::wait(*handle, server, process);
    for (const auto& io : result.output) {
        if (output) std::fwrite(io.data.data(), 1, io.data.size(), io.stream == "stderr" ? stderr : stdout);
    }
    if (WIFSIGNALED(result.status)) co_return options::exit_code::signal_base + WTERMSIG(result.status);
    co_return WEXITSTATUS(result.status);
}

Task<int> kill(Handle* handle, rexec::Server server, rexec::ProcessName process, int signum) {
    co_await rexec::kill(*handle, server, process, signum);
    co_return 0;
}

Task<int> kill_and_wait(Handle* handle, rexec::Server server, rexec::ProcessName process, int signum) {
    auto ended = rexec::wait(*handle, server, process); // asked for before there is nobody to wait for any more
    co_await rexec::kill(*handle, server, process, signum);
    co_await ended;
    co_return 0;
}

/// Run it; a failure is told as the reference tells it here.
template <class Function, class... Arguments>
int run_raw(const char* name, Context& context, Function function, Arguments... arguments) {
    try {
        return context.run(function, &context.handle(), std::move(arguments)...);
    } catch (const Error& error) {
        throw Error(error.errnum(), fmt::format("{}: [Errno {}] {}", name, error.errnum(), error.what()));
    }
}

int run_kill(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 2) throw parsed.usage_error();
    auto signum = parse_integer<int>(parsed.operands()[0]);
    if (!signum) throw parsed.usage_error("SIGNUM must be a number");
    return run_raw("kill", context, parsed.has("wait") ? &kill_and_wait : &kill, server_of(parsed),
                   name_of(parsed.operands()[1]), *signum);
}

int run_wait(Context& context, const options::Parsed& parsed) {
    if (parsed.operands().size() != 1) throw parsed.usage_error();
    return run_raw("wait", context, &wait, server_of(parsed), name_of(parsed.operands()[0]), parsed.has("output"));
}

using options::Value;
constexpr options::Option server_options[] = {
    {.name = "rank",
     .key = 'r',
     .value = Value::required,
     .argument = "N",
     .help = "Send the request to this rank (default: the local broker)"},
    {.name = "service",
     .key = 's',
     .value = Value::required,
     .argument = "NAME",
     .help = "Name of the service (default: rexec)"},
};
constexpr options::Option kill_only[] = {
    {.name = "wait", .key = 'w', .help = "Wait for the process, which must be waitable, to end"},
};
constexpr options::Option wait_only[] = {
    {.name = "output", .key = 'o', .help = "Print the last output of the process"},
};
constexpr auto ps_options = options::join(server_options, format_options);
constexpr auto kill_options = options::join(server_options, kill_only);
constexpr auto wait_options = options::join(server_options, wait_only);
static_assert(options::consistent(ps_options) && options::consistent(kill_options) &&
              options::consistent(wait_options));

constexpr options::Command subcommands[] = {
    {.name = "ps", .synopsis = "[OPTIONS]", .help = "List processes", .options = ps_options, .run = &run_ps},
    {.name = "kill",
     .synopsis = "[OPTIONS] SIGNUM PID|LABEL",
     .help = "Send a signal to a process",
     .options = kill_options,
     .run = &run_kill},
    {.name = "wait",
     .synopsis = "[OPTIONS] PID|LABEL",
     .help = "Wait for a process to end and exit as it did",
     .options = wait_options,
     .run = &run_wait},
};

} // namespace

extern const options::Command cmd_sproc;
const options::Command cmd_sproc{.name = "sproc",
                                 .program = "flux-sproc",
                                 .synopsis = "COMMAND [OPTIONS]",
                                 .help = "List and signal processes of the subprocess servers",
                                 .subcommands = subcommands,
                                 .family = options::Family::listing};

} // namespace flux::cmd
