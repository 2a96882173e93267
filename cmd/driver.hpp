// What `flux` does around commands: its own options, the environment that they get, external commands (cli.md 2).
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace flux::cmd {

struct Invocation {
    std::optional<int> exit_code; ///< set when flux is done already (help, wrong usage)
    bool version = false;         ///< run `flux version`
    bool verbose = false;         ///< tell the environment and where commands are looked for
    int command_index = 0;        ///< of the command's name in argv
};

/// Options of flux and the commands that it has.
void print_usage(FILE* out);

/// Parse flux's own options, up to the command's name.
Invocation parse_driver(int argc, char** argv);
/// Set FLUX_EXEC_PATH and the like: PREPEND : installed : inherited.
void prepare_environment(const char* argv0);
/// FLUX_EXEC_PATH_PREPEND names an external command of that name.
bool is_overridden(const std::string& name);
/// Tell what the environment was set to.
void print_environment();
/// Replace this process by `flux-NAME`. Returns -1 when there is none, else an exit code.
int exec_external(const std::string& name, const std::vector<const char*>& words, bool verbose);
/// Say that NAME is no command, and what is spelled like it.
void report_unknown(const std::string& name);

} // namespace flux::cmd
