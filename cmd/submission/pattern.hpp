// Patterns of environment and limit rules: globs, or regular expressions when they begin with `/`.
#pragma once

#include <functional>
#include <string_view>

namespace flux::submission {

/// What tells whether a name matches. \throws Error EINVAL for a bad regular expression.
std::function<bool(std::string_view name)> compile_pattern(std::string_view pattern);

} // namespace flux::submission
