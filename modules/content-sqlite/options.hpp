// What an administrator may choose: `[content-sqlite]` of the configuration, then arguments of the module.
#pragma once

#include "database.hpp"

#include <flux/json.hpp>

#include <string>
#include <vector>

namespace flux {

/// \param temporary  the state directory goes at exit: nothing needs to reach the disk.
/// \param notices    gets what is accepted and has no effect.
/// \throws Error EINVAL naming the option.
DatabaseOptions parse_options(JsonView config, const std::vector<std::string>& arguments, bool temporary,
                              std::vector<std::string>& notices);

} // namespace flux
