// The command line of a command, read by its tables with glibc's getopt_long. Nothing here ends the process; getopt's
// own state is the only global one, so one thread at a time may parse.
#pragma once

#include <charconv>
#include <cmd/options/exit_code.hpp>
#include <cmd/options/table.hpp>
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flux::options {

/// Thrown when the command ends before its work begins: help was asked for or the usage is wrong. `main` writes the
/// texts and returns the code.
struct Exit {
    int code;
    std::string out;
    std::string err;
};

/// A command line that was understood. Options are asked for by long name, or by the short letter when there is no long
/// name; those of enclosing commands too. Other names are a bug of the caller.
class Parsed {
public:
    /// One option as it was given, in order.
    struct Given {
        const Option* option;
        std::optional<std::string> value;
    };

    /// The innermost command that was named.
    const Command& command() const noexcept { return *path_.back(); }
    /// Name in texts: `flux kvs put`.
    std::string program() const;

    bool has(std::string_view name) const { return count(name) > 0; }
    unsigned count(std::string_view name) const;
    /// The last value given; nothing when there was none.
    std::optional<std::string_view> find(std::string_view name) const;
    std::string_view get(std::string_view name, std::string_view fallback = {}) const;
    /// Every value given.
    std::vector<std::string_view> all(std::string_view name) const;
    /// The items of every value given, split at commas; empty ones are dropped.
    std::vector<std::string> list(std::string_view name) const;
    /// The last value as a decimal number. \throws Exit naming the option when it is none or does not fit.
    template <class T>
    requires(std::integral<T> || std::floating_point<T>) T number(std::string_view name, T fallback)
    const;
    /// Of `-v, --verbose[=LEVEL]`: the last level given, otherwise how often the option stands.
    unsigned level(std::string_view name) const;

    /// The same command line with other values and operands.
    Parsed with_values(const std::function<std::string(std::string_view)>& change) const;

    /// The same command line with other operands.
    Parsed with_operands(std::vector<std::string> operands) const;

    /// The same command line with more options before what was typed. \throws Exit
    Parsed after(const std::vector<std::string>& options) const;

    const std::vector<Given>& given() const noexcept { return given_; }
    const std::vector<std::string>& operands() const noexcept { return operands_; }

    /// To be thrown when the command line is wrong in a way that the tables do not tell.
    /// \param text  may be empty: the operands are wrong, and the usage tells what they should be.
    Exit usage_error(std::string_view text = {}) const;
    /// The line that reports a failure of the command on stderr, with its newline.
    std::string failure_line(std::string_view text) const;

private:
    friend class Parser;
    explicit Parsed(std::vector<const Command*> path) : path_(std::move(path)) {}

    std::string operands_complaint() const;
    const Option& known(std::string_view name) const;
    [[noreturn]] void bad_number(std::string_view name, std::string_view value, bool integer) const;

    std::vector<const Command*> path_; // outermost first
    std::vector<Given> given_;
    std::vector<std::string> operands_;
};

/// \param words  the arguments, without the command's own name.
/// \throws Exit for help and for wrong usage.
Parsed parse(const Command& command, std::span<const char* const> words);

template <class T>
requires(std::integral<T> || std::floating_point<T>) T Parsed::number(std::string_view name, T fallback)
const {
    const auto text = find(name);
    if (!text) return fallback;
    T value{};
    const auto end = text->data() + text->size();
    const auto [stop, failure] = std::from_chars(text->data(), end, value);
    if (failure != std::errc{} || stop != end) bad_number(name, *text, std::integral<T>);
    return value;
}

} // namespace flux::options
