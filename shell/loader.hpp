// Loading of shell plugins: in place, after a look at the mark of the SDK they were built with, and for good.
#pragma once

#include <flux/shell.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace flux::shell {

/// Load a plugin. \throws Error ENOENT, EINVAL `PATH: built for another flux, rebuild it`, ELIBBAD with the loader's
/// text.
const PluginTable& load_plugin(const std::string& path);

/// Whether a 64-bit ELF file has a section of this name. Nothing of the file is run or trusted.
/// \throws Error with the errno of a file that cannot be read, EINVAL for what is no such ELF file.
bool has_section(const std::string& path, std::string_view name);

/// The first `DIRECTORY/NAME.so` of a colon-separated list that exists; nothing when there is none or `name` is no
/// plain name.
std::optional<std::string> find_plugin(std::string_view path_list, std::string_view name);

} // namespace flux::shell
