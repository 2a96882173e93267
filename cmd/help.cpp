// flux help: manual pages, or what commands there are (cli.md 2.4). Without a manual the tables of a command are its
// page.
#include "cmd/options/help.hpp"

#include "cmd/commands.hpp"
#include "cmd/context.hpp"
#include "cmd/driver.hpp"
#include "cmd/options/parse.hpp"

#include <flux/error.hpp>
#include <flux/paths.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace flux::cmd {
namespace {

using Path = std::vector<const options::Command*>;

const options::Command* find(std::span<const options::Command> commands, std::string_view name) {
    for (const auto& command : commands)
        if (command.name == name) return &command;
    return nullptr;
}

/// The innermost command that words name; other words are passed over. Empty: not even the first is a command.
Path path_of(const std::vector<std::string>& words) {
    Path path;
    for (const auto& word : words) {
        const auto* next = path.empty() ? find_command(word) : find(path.back()->subcommands, word);
        if (next) path.push_back(next);
        if (path.empty()) break;
    }
    return path;
}

// For completion ------------------------------------------------------------------------------------------------

void print_options(const options::Command& command) {
    for (const auto& option : command.options) {
        if (option.hidden) continue;
        if (option.key) fmt::print("-{}\n", option.key);
        if (!option.name.empty())
            fmt::print("--{}{}\n", option.name, option.value == options::Value::required ? "=" : "");
    }
}

int print_words(const std::vector<std::string>& words) {
    auto path = path_of(words);
    if (words.empty())
        for (const auto& entry : commands)
            if (!entry.command->hidden) fmt::print("{}\n", entry.name);
    if (path.empty()) return 0;
    for (const auto& command : path.back()->subcommands)
        if (!command.hidden) fmt::print("{}\n", command.name);
    print_options(*path.back());
    fmt::print("--help\n");
    return 0;
}

// Pages ---------------------------------------------------------------------------------------------------------

std::string upper(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

void print_page(const options::Command& command) {
    const auto width = options::help_width();
    auto title = upper(command.program) + "(1)";
    fmt::print("{}\n\nNAME\n    {} - {}\n\n", title, command.program, command.help);
    Path path{&command};
    fmt::print("{}", options::help_text(path, width));
    path.push_back(nullptr);
    for (const auto& sub : command.subcommands) {
        if (sub.hidden) continue;
        path.back() = &sub;
        fmt::print("\n{}\n\n{}", upper(sub.name), options::help_text(path, width));
    }
}

bool has_manual(const std::string& folder, const std::string& topic) {
    auto file = folder + "/man1/" + topic + ".1";
    return ::access(file.c_str(), R_OK) == 0 || ::access((file + ".gz").c_str(), R_OK) == 0;
}

int run(Context&, const options::Parsed& parsed) {
    if (parsed.has("words")) return print_words(parsed.operands());
    if (parsed.operands().size() > 1) throw parsed.usage_error();
    if (parsed.operands().empty()) {
        print_usage(stdout);
        return 0;
    }
    if (!std::getenv("FLUX_IGNORE_NO_DOCS") && ::access(paths::builtin("no_docs_path")->c_str(), F_OK) == 0)
        throw Error(ENOENT, "this installation has no manual pages");
    const auto& word = parsed.operands()[0];
    auto topic = word.starts_with("flux") ? word : "flux-" + word;
    auto folder = *paths::builtin("man_path");
    if (const auto* command = find_command(word); command && !has_manual(folder, topic)) {
        print_page(*command);
        return 0;
    }
    auto pages = folder + ":";
    if (const char* inherited = std::getenv("MANPATH")) pages += inherited;
    ::setenv("MANPATH", pages.c_str(), 1);
    ::execlp("man", "man", topic.c_str(), nullptr);
    throw Error(errno, "man: " + errno_text(errno));
}

constexpr options::Option help_options[] = {
    {.name = "words", .help = "Print what may follow these words of a command line", .hidden = true},
};

} // namespace

extern const options::Command cmd_help;
const options::Command cmd_help{.name = "help",
                                .program = "flux-help",
                                .synopsis = "[TOPIC]",
                                .help = "Display help information for flux commands",
                                .options = help_options,
                                .run = &run};

} // namespace flux::cmd
