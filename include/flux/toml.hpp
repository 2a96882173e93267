// TOML as JSON. In a library of its own (flux_toml).
#pragma once

#include <flux/json.hpp>

#include <string>
#include <string_view>

namespace flux {

/// The table that `text` is; dates become strings.
/// \param source  what the text is called in errors.
/// \throws Error EINVAL `SOURCE: line N: what`
Json parse_toml(std::string_view text, const std::string& source);

} // namespace flux
