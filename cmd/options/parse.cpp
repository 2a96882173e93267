#include <algorithm>
#include <cassert>
#include <cmd/options/help.hpp>
#include <cmd/options/parse.hpp>
#include <cstdlib>
#include <getopt.h>
#include <string>

namespace flux::options {

namespace {

constexpr int help_value = 0xffff;       // what getopt_long gives for --help
constexpr int first_long_value = 0x1000; // plus the row of the option

bool is_heading(const Option& option) { return option.name.empty() && option.key == 0; }

const Option* find_option(const Command& command, std::string_view name) {
    for (const auto& option : command.options) {
        if (is_heading(option) || !option.same_as.empty()) continue;
        if (option.name.empty() ? std::string_view(&option.key, 1) == name : option.name == name) return &option;
    }
    return nullptr;
}

/// How error texts call an option: `'--name'`.
std::string quoted(const Option& option) {
    return option.name.empty() ? std::string{'\'', '-', option.key, '\''} : "'--" + std::string(option.name) + "'";
}

} // namespace

class Parser {
public:
    Parser(const Command& command, std::span<const char* const> words) : parsed_({&command}) {
        words_.assign(words.begin(), words.end());
    }

    Parsed run() {
        for (;;) {
            auto rest = options();
            const auto& command = parsed_.command();
            if (command.subcommands.empty() || (rest.empty() && command.run)) {
                parsed_.operands_ = std::move(rest);
                return std::move(parsed_);
            }
            if (rest.empty()) throw parsed_.usage_error("missing subcommand");
            enter(rest);
        }
    }

private:
    /// Go on with the subcommand named by the first of the words.
    void enter(const std::vector<std::string>& rest) {
        for (const auto& sub : parsed_.command().subcommands) {
            if (sub.name != rest.front()) continue;
            parsed_.path_.push_back(&sub);
            words_.assign(rest.begin() + 1, rest.end());
            return;
        }
        throw parsed_.usage_error("Unknown subcommand: " + rest.front());
    }

    /// Take the options of the current command from the words. \returns the operands.
    std::vector<std::string> options() {
        const auto& command = parsed_.command();
        // A command with subcommands leaves what follows their name to them.
        const bool stop_at_operand = family() != Family::listing || !command.subcommands.empty();
        auto [shorts, longs] = getopt_tables(stop_at_operand);

        std::string program = parsed_.program();
        std::vector<char*> arguments = {program.data()};
        for (auto& word : words_) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const auto count = static_cast<int>(arguments.size()) - 1;

        std::vector<std::string> operands;
        ::opterr = 0;
        ::optind = 0; // starts glibc's parser afresh
        for (;;) {
            const int place = ::optind ? ::optind : 1;
            const int found = ::getopt_long(count, arguments.data(), shorts.c_str(), longs.data(), nullptr);
            if (found == -1) break;
            const char* word = arguments[static_cast<std::size_t>(place)];
            if (found == 1)
                operands.emplace_back(::optarg);
            else if (found == '?')
                throw unrecognized(word);
            else if (found == ':')
                throw missing_value(word);
            else if (found >= first_long_value && !spelled_out(word, longs, found))
                throw unrecognized(word);
            else if (found == help_value || (found == 'h' && !by_key('h')))
                throw help();
            else
                give(found >= first_long_value ? row(found) : *by_key(static_cast<char>(found)), arguments);
        }
        for (auto index = ::optind; index < count; ++index)
            operands.emplace_back(arguments[static_cast<std::size_t>(index)]);
        return operands;
    }

    std::pair<std::string, std::vector<option>> getopt_tables(bool stop_at_operand) const {
        // `-` has operands handed out in their places, whatever POSIXLY_CORRECT says.
        std::string shorts = stop_at_operand ? "+:" : "-:";
        std::vector<option> longs;
        int value = first_long_value;
        for (const auto& row : parsed_.command().options) {
            if (row.key) {
                shorts += row.key;
                if (row.value != Value::none) shorts += row.value == Value::required ? ":" : "::";
            }
            const int kind = row.value == Value::none       ? no_argument
                             : row.value == Value::required ? required_argument
                                                            : optional_argument;
            if (!row.name.empty()) longs.push_back({row.name.data(), kind, nullptr, value});
            ++value;
        }
        if (family() != Family::submission && !by_key('h')) shorts += 'h';
        longs.push_back({"help", no_argument, nullptr, help_value});
        longs.push_back({});
        return {std::move(shorts), std::move(longs)};
    }

    /// Whether a long option was written in full where that is demanded.
    bool spelled_out(std::string_view word, const std::vector<option>& longs, int value) const {
        if (family() == Family::plain) return true;
        const auto name = word.substr(0, word.find('=')).substr(2);
        for (const auto& entry : longs)
            if (entry.val == value && entry.name == name) return true;
        return false;
    }

    const Option& row(int value) const {
        return parsed_.command().options[static_cast<std::size_t>(value - first_long_value)];
    }

    const Option* by_key(char key) const {
        for (const auto& option : parsed_.command().options)
            if (option.key == key) return &option;
        return nullptr;
    }

    void give(const Option& option, const std::vector<char*>& arguments) {
        // A listing command takes the word after such an option for its value.
        if (family() == Family::listing && option.value == Value::optional && !::optarg) {
            char* next = arguments[static_cast<std::size_t>(::optind)];
            if (next && next[0] != '-') ::optarg = next, ++::optind;
        }
        const auto* meant = option.same_as.empty() ? &option : find_option(parsed_.command(), option.same_as);
        assert(meant);
        parsed_.given_.push_back({meant, ::optarg ? std::optional<std::string>(::optarg) : std::nullopt});
    }

    Exit help() const {
        auto text = help_text(parsed_.path_, help_width());
        if (family() == Family::plain) return {exit_code::success, {}, std::move(text)};
        return {exit_code::success, std::move(text), {}};
    }

    /// The option that an error is about: the word of a long one, the letter in a cluster of short ones.
    static std::string culprit(std::string_view word) {
        if (word.starts_with("--")) return std::string(word);
        return {'-', static_cast<char>(::optopt)};
    }

    Exit unrecognized(std::string_view word) const {
        if (family() != Family::plain) return parsed_.usage_error("unrecognized arguments: " + culprit(word));
        const auto program = parsed_.program();
        return {exit_code::failure,
                {},
                program + ": unrecognized option '" + culprit(word) + "'\nTry '" + program +
                    " --help' for more information.\n"};
    }

    Exit missing_value(std::string_view word) const {
        if (family() != Family::plain)
            return parsed_.usage_error("argument " + culprit(word) + ": expected one argument");
        return {exit_code::failure, {}, parsed_.program() + ": '" + culprit(word) + "' missing argument\n"};
    }

    Family family() const { return parsed_.path_.front()->family; }

    Parsed parsed_;
    std::vector<std::string> words_;
};

Parsed parse(const Command& command, std::span<const char* const> words) { return Parser(command, words).run(); }

std::string Parsed::program() const { return program_name(path_); }

const Option& Parsed::known(std::string_view name) const {
    for (auto command = path_.rbegin(); command != path_.rend(); ++command)
        if (const auto* option = find_option(**command, name)) return *option;
    assert(!"asked for an option that no table has");
    std::abort();
}

unsigned Parsed::count(std::string_view name) const {
    const auto& option = known(name);
    unsigned count = 0;
    for (const auto& given : given_) count += given.option == &option;
    return count;
}

std::optional<std::string_view> Parsed::find(std::string_view name) const {
    const auto values = all(name);
    if (values.empty()) return std::nullopt;
    return values.back();
}

std::string_view Parsed::get(std::string_view name, std::string_view fallback) const {
    return find(name).value_or(fallback);
}

std::vector<std::string_view> Parsed::all(std::string_view name) const {
    const auto& option = known(name);
    std::vector<std::string_view> values;
    for (const auto& given : given_)
        if (given.option == &option && given.value) values.push_back(*given.value);
    return values;
}

std::vector<std::string> Parsed::list(std::string_view name) const {
    std::vector<std::string> items;
    for (auto rest : all(name)) {
        while (!rest.empty()) {
            const auto item = rest.substr(0, rest.find(','));
            if (!item.empty()) items.emplace_back(item);
            rest.remove_prefix(std::min(item.size() + 1, rest.size()));
        }
    }
    return items;
}

Parsed Parsed::with_values(const std::function<std::string(std::string_view)>& change) const {
    Parsed changed = *this;
    for (auto& given : changed.given_)
        if (given.value) given.value = change(*given.value);
    for (auto& operand : changed.operands_) operand = change(operand);
    return changed;
}

Parsed Parsed::with_operands(std::vector<std::string> operands) const {
    Parsed changed = *this;
    changed.operands_ = std::move(operands);
    return changed;
}

Parsed Parsed::after(const std::vector<std::string>& options) const {
    std::vector<const char*> words;
    for (const auto& word : options) words.push_back(word.c_str());
    auto joined = parse(command(), words);
    joined.given_.insert(joined.given_.end(), given_.begin(), given_.end());
    joined.operands_ = operands_;
    return joined;
}

unsigned Parsed::level(std::string_view name) const { return number<unsigned>(name, count(name)); }

std::string Parsed::operands_complaint() const {
    if (!operands_.empty()) return "wrong number of arguments";
    auto wanted = command().synopsis;
    constexpr std::string_view options = "[OPTIONS] ";
    if (wanted.starts_with(options)) wanted.remove_prefix(options.size());
    return "the following arguments are required: " + std::string(wanted);
}

Exit Parsed::usage_error(std::string_view text) const {
    const auto usage = usage_text(path_);
    const auto line = [&](const char* kind) {
        return text.empty() ? std::string() : program() + kind + std::string(text) + '\n';
    };
    if (path_.front()->family == Family::plain) return {exit_code::failure, {}, line(": ") + usage};
    if (text.empty()) return usage_error(operands_complaint());
    return {exit_code::usage, {}, usage + line(": error: ")};
}

std::string Parsed::failure_line(std::string_view text) const {
    const auto& outermost = *path_.front();
    std::string line(outermost.program);
    line += outermost.family == Family::plain ? ": " : ": ERROR: ";
    return line.append(text) + '\n';
}

void Parsed::bad_number(std::string_view name, std::string_view value, bool integer) const {
    const auto kind = integer ? "integer" : "number";
    const auto option = quoted(known(name));
    if (path_.front()->family != Family::plain)
        throw usage_error("argument " + option.substr(1, option.size() - 2) + ": invalid " + kind + " value: '" +
                          std::string(value) + "'");
    throw Exit{
        exit_code::failure, {}, program() + ": " + option + ": '" + std::string(value) + "' is no " + kind + '\n'};
}

} // namespace flux::options
