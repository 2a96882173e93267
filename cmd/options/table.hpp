// What a command understands, as constant tables: its options, its subcommands, and which spelling rules it follows.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace flux::cmd {
class Context;
}

namespace flux::options {

class Parsed;

enum class Value {
    none,
    required, // glued or the next word
    optional, // glued: `--opt=V`, `-oV`; of a listing command also the next word, if it is no option
};

/// One option. A row without `name` and `key` is a heading in the help. Names are literals: their ends are NUL.
struct Option {
    std::string_view name{}; // long name without dashes; empty: only the short form exists
    char key = 0;            // short form; 0: only the long form exists
    Value value = Value::none;
    std::string_view argument{}; // how help calls the value
    std::string_view help{};
    bool hidden = false;        // not in help
    std::string_view same_as{}; // long name of the option that this is another spelling of
};

constexpr Option heading(std::string_view text) { return {.help = text}; }

/// One table out of several, for commands that share options.
template <std::size_t... Sizes> constexpr auto join(const Option (&... tables)[Sizes]) {
    std::array<Option, (Sizes + ...)> joined{};
    std::size_t index = 0;
    const auto add = [&](const auto& table) {
        for (const auto& option : table) joined[index++] = option;
    };
    (add(tables), ...);
    return joined;
}

/// The spelling rules of the reference's families of commands.
enum class Family {
    plain,      // long names may be shortened, the first operand ends options; help on stderr, wrong usage exits 1
    listing,    // long names in full, options and operands mixed; help on stdout, wrong usage exits 2
    submission, // as `listing`, but the first operand ends options and there is no `-h`
};

/// A command or a subcommand of one.
struct Command {
    std::string_view name{};
    /// What texts call the program: `flux kvs`, `flux-jobs`. Empty in a subcommand: its parent's and its own name.
    std::string_view program{};
    std::string_view synopsis{}; // operands and the like, after the name
    std::string_view help{};     // one sentence
    std::span<const Option> options{};
    std::span<const Command> subcommands{};
    Family family = Family::plain; // of the outermost command
    unsigned help_column = 0;      // where descriptions of options begin; 0: that of the family
    bool hidden = false;           // not in the parent's help
    bool own_program = false;      // `flux` knows it, and runs `flux-NAME`
    /// Does the work and gives the exit code; null when a subcommand is needed.
    int (*run)(cmd::Context&, const Parsed&) = nullptr;
};

/// For static_assert beside a table: names and keys are unique, an option with a value names it, `same_as` exists.
constexpr bool consistent(std::span<const Option> table) {
    for (const auto& option : table) {
        if ((option.value != Value::none) == option.argument.empty() && option.same_as.empty()) return false;
        bool target = option.same_as.empty();
        for (const auto& other : table) {
            target = target || (!other.name.empty() && other.name == option.same_as);
            if (&other == &option) continue;
            if (option.key != 0 && option.key == other.key) return false;
            if (!option.name.empty() && option.name == other.name) return false;
        }
        if (!target) return false;
    }
    return true;
}

} // namespace flux::options
