// flux help: manual pages, or what commands there are (cli.md 2.4).
#include "cmd/context.hpp"
#include "cmd/driver.hpp"
#include "cmd/options/parse.hpp"

#include <flux/paths.hpp>

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace flux::cmd {
namespace {

int run(Context&, const options::Parsed& parsed) {
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    if (parsed.operands().empty()) {
        print_usage(stdout);
        return 0;
    }
    if (!std::getenv("FLUX_IGNORE_NO_DOCS") && ::access(paths::builtin("no_docs_path")->c_str(), F_OK) == 0)
        throw Error(ENOENT, "this installation has no manual pages");
    auto topic = parsed.operands()[0];
    if (!topic.starts_with("flux")) topic = "flux-" + topic;
    auto pages = *paths::builtin("man_path") + ":";
    if (const char* inherited = std::getenv("MANPATH")) pages += inherited;
    ::setenv("MANPATH", pages.c_str(), 1);
    ::execlp("man", "man", topic.c_str(), nullptr);
    throw Error(errno, "man: " + errno_text(errno));
}

} // namespace

extern const options::Command cmd_help;
const options::Command cmd_help{.name = "help",
                                .program = "flux-help",
                                .synopsis = "[TOPIC]",
                                .help = "Display help information for flux commands",
                                .run = &run};

} // namespace flux::cmd
