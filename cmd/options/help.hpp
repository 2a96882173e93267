// Usage and help texts of a command, made from its tables.
#pragma once

#include <cmd/options/table.hpp>
#include <span>
#include <string>

namespace flux::options {

/// Width of help texts: COLUMNS of the environment when it is sane, else 80.
unsigned help_width();

/// `Usage: PROGRAM SYNOPSIS` and a line for each subcommand.
/// \param path  the command and what encloses it, outermost first.
std::string usage_text(std::span<const Command* const> path);
/// Usage, the command's sentence, its subcommands and its options.
std::string help_text(std::span<const Command* const> path, unsigned width);

/// What texts call the command: `flux kvs put`.
std::string program_name(std::span<const Command* const> path);

} // namespace flux::options
