// Files that travel within a jobspec (RFC 37).
#pragma once

#include <flux/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace flux::submission {

/// The file object of content that is given.
Json file_of_content(std::string_view content, unsigned permissions);
/// The file object of a regular file. \throws Error with its name
Json file_of_path(const std::string& path);
/// Name and file of `--add-file [NAME[:PERMS]=]ARG`. \throws Error
std::pair<std::string, Json> parse_add_file(std::string_view text);

} // namespace flux::submission
