// Options within a batch script (RFC 36): `#flux: -n 4`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flux::submission {

/// One directive: its words and the line where it begins.
struct Directive {
    std::size_t line;
    std::vector<std::string> words;
};

/// The directives of a script, in order; those without words are left out.
/// \throws Error EINVAL naming the line.
std::vector<Directive> read_directives(std::string_view script);

} // namespace flux::submission
