// One command from its words to its exit code.
#pragma once

#include "cmd/options/table.hpp"

#include <vector>

namespace flux::cmd {

/// Read the words by the command's tables and run it. What it has to say about failures is printed.
/// \param words  the arguments, without the command's own name.
int run_command(const options::Command& command, const std::vector<const char*>& words);

} // namespace flux::cmd
