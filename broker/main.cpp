// flux-broker: parse the command line and live.
#include "broker/broker.hpp"

#include <flux/parse_integer.hpp>

#include <fmt/core.h>

#include <clocale>
#include <getopt.h>
#include <malloc.h>

namespace {

constexpr const char* usage = "Usage: flux-broker [OPTIONS] [COMMAND [ARGS...]]\n"
                              "  -v, --verbose[=LEVEL]      log to stderr: 1 info, 2 debug\n"
                              "  -S, --setattr=NAME[=VALUE] set a broker attribute\n"
                              "  -c, --config-path=PATH     directory of *.toml, or one TOML or JSON file\n"
                              "      --conf=SPEC            KEY=VALUE, JSON, TOML or a file, over the config\n"
                              "  -h, --help                 print this\n";

enum { option_conf = 256 };

constexpr option options[] = {
    {"verbose", optional_argument, nullptr, 'v'},
    {"setattr", required_argument, nullptr, 'S'},
    {"config-path", required_argument, nullptr, 'c'},
    {"conf", required_argument, nullptr, option_conf},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
};

} // namespace

int main(int argc, char** argv) {
    // Large buffers come and go on every thread: give them back, rather than keep the most that was ever needed.
    ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    std::setlocale(LC_CTYPE, ""); // job ids in texts begin with an f with hook where that can be shown
    flux::broker::Options parsed;
    for (int c; (c = ::getopt_long(argc, argv, "+v::S:c:h", options, nullptr)) != -1;) {
        std::string argument = optarg ? optarg : "";
        switch (c) {
        case 'v': {
            auto level = flux::parse_integer<int>(argument.empty() ? "1" : argument);
            if (!level) {
                fmt::print(stderr, "flux-broker: --verbose: '{}' is no level\n", argument);
                return 1;
            }
            parsed.verbose = *level;
            break;
        }
        case 'S': {
            auto equals = argument.find('=');
            std::optional<std::string> value;
            if (equals != std::string::npos) value = argument.substr(equals + 1);
            parsed.attributes.emplace_back(argument.substr(0, equals), std::move(value));
            break;
        }
        case 'c': parsed.config_path = argument; break;
        case option_conf: parsed.config_specs.push_back(argument); break;
        case 'h': fmt::print("{}", usage); return 0;
        default: fmt::print(stderr, "{}", usage); return 1;
        }
    }
    parsed.command.assign(argv + optind, argv + argc);
    try {
        flux::broker::Broker broker(std::move(parsed));
        return broker.run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "flux-broker: {}\n", error.what());
        return 1;
    }
}
