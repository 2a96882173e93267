// flux: finds the command and runs it, inside this program or as `flux-NAME` (cli.md 2).
#include "cmd/commands.hpp"
#include "cmd/context.hpp"
#include "cmd/driver.hpp"
#include "cmd/run_command.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <vector>

using namespace flux;

int main(int argc, char** argv) {
    std::setlocale(LC_CTYPE, "");
    std::signal(SIGPIPE, SIG_DFL);
    try {
        auto invocation = cmd::parse_driver(argc, argv);
        if (invocation.exit_code) return *invocation.exit_code;
        if (invocation.version) return cmd::run_command(cmd::cmd_version, {});
        cmd::prepare_environment(argv[0]);
        if (invocation.verbose) cmd::print_environment();
        std::string name = argv[invocation.command_index];
        std::vector<const char*> words(argv + invocation.command_index + 1, argv + argc);
        const auto* command = cmd::find_command(name);
        bool own_program = command && command->own_program;
        if (!command || own_program || cmd::is_overridden(name)) {
            int code = cmd::exec_external(name, words, invocation.verbose);
            if (code >= 0) return code;
        }
        if (command && !own_program) return cmd::run_command(*command, words);
        cmd::report_unknown(name);
    } catch (const cmd::Unreachable& error) {
        fmt::print(stderr, "flux: {}\n", error.plain_text());
    } catch (const Error& error) {
        fmt::print(stderr, "flux: {}\n", error.what());
    }
    return 1;
}
