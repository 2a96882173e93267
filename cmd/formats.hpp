// What listing commands share: formats by name, whether to colour, printing the rows.
#pragma once

#include "cmd/options/parse.hpp"
#include "cmd/output/listing.hpp"
#include "cmd/output/named_formats.hpp"

#include <optional>
#include <string>
#include <vector>

namespace flux::cmd {

/// Options of every listing.
inline constexpr options::Option format_options[] = {
    {.name = "format",
     .key = 'o',
     .value = options::Value::required,
     .argument = "FORMAT",
     .help = "Specify output format using Python's string format syntax or a defined format by name (use 'help' to get "
             "a list of names)"},
    {.name = "no-header", .key = 'n', .help = "Suppress printing of header line"},
};

/// Whether to colour; a table that has another `-L` leaves the key out.
constexpr options::Option color_row(char key = 'L') {
    return {.name = "color",
            .key = key,
            .value = options::Value::optional,
            .argument = "WHEN",
            .help = "Colorize output when supported; WHEN can be 'always' (default if omitted), 'never', or 'auto' "
                    "(default)."};
}
inline constexpr options::Option color_option[] = {color_row()};

/// The format that `--format` (`-o`) asks for; configuration files are read only when there are some.
/// \returns nothing when help or a configuration snippet was asked for and printed.
/// \throws Error
std::optional<output::Format> choose_format(const output::FormatSource& source, const options::Parsed& parsed,
                                            const output::Headings& headings);

/// What `--color` asks for. \throws Exit
bool choose_color(const options::Parsed& parsed);

/// Columns of the terminal that stdout is; nothing when it is none.
std::optional<std::size_t> terminal_width();

/// Print rows in the format's order, after the heading if that is wanted.
void print_listing(const output::Format& format, const std::vector<output::Row>& rows, bool with_header);

} // namespace flux::cmd
