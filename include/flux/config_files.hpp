// Configuration from files and the command line into one JSON object (broker.md 8.1).
#pragma once

#include <flux/json.hpp>

#include <string>
#include <vector>

namespace flux {

/// A directory (its `*.toml`, sorted, merged), a TOML file or a `.json` file.
/// \throws Error EINVAL `Config file error: FILE: line N: why`, ENOENT
Json read_config(const std::string& path);
/// What `--conf` takes: `KEY=VALUE`, JSON object text, TOML text with a newline, or a file.
Json parse_config_spec(const std::string& spec);
/// Merge tables recursively; other values of `over` win.
void merge_config(JsonRef base, JsonView over);

} // namespace flux
