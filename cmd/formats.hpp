// What listing commands share: formats by name, whether to colour, printing the rows.
#pragma once

#include "cmd/options/parse.hpp"
#include "cmd/output/listing.hpp"
#include "cmd/output/named_formats.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flux::cmd {

/// The format that `--format` (`-o`) asks for; configuration files are read only when there are some.
/// \returns nothing when help or a configuration snippet was asked for and printed.
/// \throws Error
std::optional<output::Format> choose_format(const output::FormatSource& source, const options::Parsed& parsed,
                                            const output::Headings& headings);

/// What `--color` asks for. \throws Exit
bool choose_color(const options::Parsed& parsed);

/// Print rows in the format's order.
/// \param with_header  whether the heading comes first.
/// \param print        prints one line of the item at this index, without newline.
void print_listing(const output::Format& format, const std::vector<output::Row>& rows, bool with_header,
                   const std::function<void(std::string_view line, std::optional<std::size_t> index)>& print);
/// Print rows on stdout.
void print_listing(const output::Format& format, const std::vector<output::Row>& rows, bool with_header);

} // namespace flux::cmd
