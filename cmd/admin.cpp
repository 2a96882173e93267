// flux admin: what is run at the end of the instance (cli.md 6.36).
#include "cmd/context.hpp"
#include "cmd/options/parse.hpp"

#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>
#include <iostream>

namespace flux::cmd {
namespace {

Task<int> push(Handle* handle, std::vector<std::string> commands) {
    auto request = Json::object("name", "cleanup", "commands", commands);
    co_await handle->call("runat.push", std::move(request));
    co_return 0;
}

int run_cleanup_push(Context& context, const options::Parsed& parsed) {
    std::vector<std::string> commands;
    std::string command;
    for (const auto& word : parsed.operands()) command += command.empty() ? word : " " + word;
    if (!command.empty()) commands.push_back(command);
    if (parsed.operands().empty())
        for (std::string line; std::getline(std::cin, line);)
            if (!line.empty()) commands.push_back(line);
    if (commands.empty()) throw Error(EINVAL, "no command was given");
    // What is pushed last runs first.
    std::reverse(commands.begin(), commands.end());
    return context.run(&push, &context.handle(), std::move(commands));
}

constexpr options::Command subcommands[] = {
    {.name = "cleanup-push",
     .synopsis = "[COMMAND...]",
     .help = "Run a command, or each line of stdin, before the instance ends",
     .run = &run_cleanup_push},
};

} // namespace

extern const options::Command cmd_admin;
const options::Command cmd_admin{.name = "admin",
                                 .program = "flux-admin",
                                 .synopsis = "COMMAND [OPTIONS]",
                                 .help = "Administer an instance",
                                 .subcommands = subcommands,
                                 .family = options::Family::listing};

} // namespace flux::cmd
