#include <algorithm>
#include <charconv>
#include <cmd/options/help.hpp>
#include <cstdlib>
#include <string_view>

namespace flux::options {

namespace {

constexpr unsigned default_width = 80;
constexpr unsigned plain_column = 25;
constexpr unsigned listing_column = 40;
constexpr unsigned narrowest_text = 16; // words are not wrapped into less than this

Family family(std::span<const Command* const> path) { return path.front()->family; }

std::string spelling(const Option& option) {
    std::string text = "  ";
    text += option.key ? std::string{'-', option.key} : std::string("  ");
    if (!option.name.empty()) {
        text += option.key ? ", --" : "  --";
        text += option.name;
    }
    const auto argument = std::string(option.argument);
    switch (option.value) {
    case Value::none: break;
    case Value::required: text += (option.name.empty() ? " " : "=") + argument; break;
    case Value::optional: text += option.name.empty() ? "[" + argument + "]" : "[=" + argument + "]"; break;
    }
    return text;
}

/// Append `text`, wrapped into the columns from `column` to `width`; `line` is what the current line holds.
void append_wrapped(std::string& out, std::string line, std::string_view text, unsigned column, unsigned width) {
    if (line.size() + 1 > column) {
        out += line + '\n';
        line.clear();
    }
    line.resize(column, ' ');
    const auto room = width > column + narrowest_text ? width - column : narrowest_text;
    while (!text.empty()) {
        auto cut = text.size();
        if (cut > room) {
            cut = text.rfind(' ', room);
            if (cut == text.npos) cut = text.find(' ');
            if (cut == text.npos) cut = text.size();
        }
        out += line.append(text.substr(0, cut)) + '\n';
        text.remove_prefix(cut);
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        line.assign(column, ' ');
    }
}

} // namespace

unsigned help_width() {
    const char* text = std::getenv("COLUMNS");
    if (!text) return default_width;
    const std::string_view digits(text);
    unsigned width = 0;
    const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), width);
    const bool sane = failure == std::errc{} && end == digits.end() && width > 16 && width < 256;
    return sane ? width : default_width;
}

std::string program_name(std::span<const Command* const> path) {
    std::string name(path.front()->program);
    for (const auto* command : path.subspan(1)) name.append(" ").append(command->name);
    return name;
}

std::string usage_text(std::span<const Command* const> path) {
    const auto program = program_name(path);
    const auto& command = *path.back();
    std::string text = "Usage: " + program;
    if (!command.synopsis.empty()) text.append(" ").append(command.synopsis);
    text += '\n';
    for (const auto& sub : command.subcommands) {
        if (sub.hidden) continue;
        text.append("   or: ").append(program).append(" ").append(sub.name);
        if (!sub.synopsis.empty()) text.append(" ").append(sub.synopsis);
        text += '\n';
    }
    return text;
}

std::string help_text(std::span<const Command* const> path, unsigned width) {
    const auto& command = *path.back();
    const auto column = command.help_column             ? command.help_column
                        : family(path) == Family::plain ? plain_column
                                                        : listing_column;
    auto text = usage_text(path);
    if (!command.help.empty()) append_wrapped(text, {}, command.help, 0, width);

    const Option help = {
        .name = "help", .key = family(path) == Family::submission ? '\0' : 'h', .help = "Display this message."};
    append_wrapped(text, spelling(help), help.help, column, width);
    for (const auto& option : command.options) {
        if (option.hidden) continue;
        if (option.name.empty() && !option.key)
            text.append("\n").append(option.help).append("\n");
        else
            append_wrapped(text, spelling(option), option.help, column, width);
    }

    bool titled = false;
    for (const auto& sub : command.subcommands) {
        if (sub.hidden || sub.help.empty()) continue;
        if (!titled) text += "\nCommands:\n";
        titled = true;
        append_wrapped(text, "   " + std::string(sub.name), sub.help, column, width);
    }
    return text;
}

} // namespace flux::options
