// flux: finds the command and runs it, inside this program or as `flux-NAME` (cli.md 2).
#include "cmd/commands.hpp"
#include "cmd/context.hpp"
#include "cmd/driver.hpp"
#include "cmd/options/parse.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

using namespace flux;

/// Commands of the plain family that are programs of their own in the reference: scripts know them by these names.
constexpr std::string_view own_programs[] = {"R",   "broker", "event",  "exec", "job",   "keygen",
                                             "kvs", "logger", "module", "ping", "start", "top"};

std::string unreachable_line(const options::Command& command, const cmd::Unreachable& error) {
    if (command.family != options::Family::plain)
        return fmt::format("{}: ERROR: Unable to connect to Flux: {}\n", command.program, error.what());
    bool own = std::binary_search(std::begin(own_programs), std::end(own_programs), command.name);
    return fmt::format("{}: {}\n", own ? command.program : "flux", error.plain_text());
}

int run_command(const options::Command& command, std::vector<const char*> words) {
    try {
        auto parsed = options::parse(command, words);
        if (!parsed.command().run) {
            auto wrong = parsed.usage_error();
            fmt::print(stderr, "{}", wrong.err);
            return wrong.code;
        }
        cmd::Context context(parsed.program());
        try {
            return parsed.command().run(context, parsed);
        } catch (const Error& error) {
            const auto& unreachable = context.unreachable();
            fmt::print(stderr, "{}",
                       unreachable ? unreachable_line(command, *unreachable) : parsed.failure_line(error.what()));
            return options::exit_code::failure;
        }
    } catch (const options::Exit& exit) {
        fmt::print(stdout, "{}", exit.out);
        fmt::print(stderr, "{}", exit.err);
        return exit.code;
    }
}

} // namespace

int main(int argc, char** argv) {
    std::setlocale(LC_CTYPE, "");
    std::signal(SIGPIPE, SIG_DFL);
    try {
        auto invocation = cmd::parse_driver(argc, argv);
        if (invocation.exit_code) return *invocation.exit_code;
        if (invocation.version) return run_command(cmd::cmd_version, {});
        cmd::prepare_environment(argv[0]);
        if (invocation.verbose) cmd::print_environment();
        std::string name = argv[invocation.command_index];
        std::vector<const char*> words(argv + invocation.command_index + 1, argv + argc);
        const auto* command = cmd::find_command(name);
        if (!command || cmd::is_overridden(name)) {
            int code = cmd::exec_external(name, words, invocation.verbose);
            if (code >= 0) return code;
        }
        if (command) return run_command(*command, words);
        cmd::report_unknown(name);
    } catch (const cmd::Unreachable& error) {
        fmt::print(stderr, "flux: {}\n", error.plain_text());
    } catch (const Error& error) {
        fmt::print(stderr, "flux: {}\n", error.what());
    }
    return 1;
}
