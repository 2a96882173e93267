// flux env: the environment that commands get, printed or given to another program (cli.md 2.4).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace flux::cmd {
namespace {

int run(Context&, const options::Parsed& parsed) {
    const auto& words = parsed.operands();
    if (words.empty()) {
        for (const char* name : {"FLUX_EXEC_PATH", "FLUX_CONNECTOR_PATH", "FLUX_MODULE_PATH", "PATH"})
            if (const char* value = std::getenv(name)) fmt::print("export {}=\"{}\"\n", name, value);
        return 0;
    }
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    throw Error(errno, "execvp (" + words[0] + "): " + errno_text(errno));
}

} // namespace

extern const options::Command cmd_env;
const options::Command cmd_env{.name = "env",
                               .program = "flux",
                               .synopsis = "[COMMAND...]",
                               .help = "Print the flux environment or execute a command inside it",
                               .run = &run};

} // namespace flux::cmd
