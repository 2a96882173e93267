#include "cmd/run_command.hpp"

#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace flux::cmd {
namespace {

/// Commands of the plain family that are programs of their own in the reference: scripts know them by these names.
constexpr std::string_view own_programs[] = {"R",   "broker", "event",  "exec", "job",   "keygen",
                                             "kvs", "logger", "module", "ping", "start", "top"};

std::string unreachable_line(const options::Command& command, const Unreachable& error) {
    if (command.family != options::Family::plain)
        return fmt::format("{}: ERROR: Unable to connect to Flux: {}\n", command.program, error.what());
    bool own = std::binary_search(std::begin(own_programs), std::end(own_programs), command.name);
    return fmt::format("{}: {}\n", own ? command.program : "flux", error.plain_text());
}

} // namespace

int run_command(const options::Command& command, const std::vector<const char*>& words) {
    try {
        auto parsed = options::parse(command, words);
        if (!parsed.command().run) {
            auto wrong = parsed.usage_error();
            fmt::print(stderr, "{}", wrong.err);
            return wrong.code;
        }
        Context context(parsed.program());
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

} // namespace flux::cmd
