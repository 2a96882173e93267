// flux-shell JOBID: run the tasks of a job on this node (shell.md 1.1). Started by the exec agent of the broker; with
// -s JOBSPEC -R R, files, it runs a job of one node without a broker.
#include "core.hpp"

#include <flux/parse_integer.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>

using namespace flux;
using namespace flux::shell;

namespace {

constexpr char usage[] = "Usage: flux-shell [--reconnect] JOBID\n"
                         "       flux-shell -s JOBSPEC -R R JOBID\n"
                         "Run the tasks of a job on this node.\n"
                         "  -h, --help                display this message\n"
                         "      --reconnect           survive the loss of the broker (always on)\n"
                         "  -s, --standalone=JOBSPEC  run a job of one node from files, without a broker\n"
                         "  -R, --resources=R         resources of a standalone job\n";

class Arguments {
public:
    bool help = false;
    std::string jobspec;
    std::string R;
    JobId id;
};

std::optional<Arguments> parse(int argc, char* argv[]) {
    const option options[] = {{"help", no_argument, nullptr, 'h'},
                              {"reconnect", no_argument, nullptr, 'r'},
                              {"standalone", required_argument, nullptr, 's'},
                              {"resources", required_argument, nullptr, 'R'},
                              {}};
    Arguments arguments;
    for (int letter; (letter = ::getopt_long(argc, argv, "hs:R:", options, nullptr)) != -1;) {
        if (letter == 'h')
            arguments.help = true;
        else if (letter == 's')
            arguments.jobspec = optarg;
        else if (letter == 'R')
            arguments.R = optarg;
        else if (letter != 'r')
            return std::nullopt;
    }
    if (arguments.help) return arguments;
    if (argc - optind != 1 || arguments.jobspec.empty() != arguments.R.empty()) return std::nullopt;
    auto id = parse_integer<std::uint64_t>(argv[optind]);
    if (!id) return std::nullopt;
    arguments.id = JobId(*id);
    return arguments;
}

Launch find_launch(const Arguments& arguments, Handle& handle) {
    if (!arguments.jobspec.empty()) return Launch::from_files(arguments.id, arguments.jobspec, arguments.R);
    if (auto given = Launch::from_environment()) return std::move(*given);
    Scope scope(handle.loop());
    return run_task<Launch>(scope, &Launch::lookup, &handle, arguments.id);
}

[[noreturn]] void run(const Arguments& arguments) {
    ::signal(SIGPIPE, SIG_IGN);
    Loop loop;
    auto handle = arguments.jobspec.empty() ? Handle::open(loop)
                                            : std::make_unique<Handle>(loop, std::make_unique<LoopTransport>(loop));
    auto launch = find_launch(arguments, *handle);
    if (launch.id != arguments.id) throw Error(EINVAL, "launched for job " + launch.id.dec());
    Core core(loop, std::move(handle), std::move(launch));
    int code = core.run();
    // Connections, plugins and what they wait for end with the process: nothing is gained by taking them apart.
    std::_Exit(code);
}

} // namespace

int main(int argc, char* argv[]) {
    auto arguments = parse(argc, argv);
    if (!arguments || arguments->help) {
        std::fputs(usage, arguments ? stdout : stderr);
        return arguments ? 0 : 1;
    }
    try {
        run(*arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "flux-shell: FATAL: %s\n", error.what());
        return 1;
    }
}
