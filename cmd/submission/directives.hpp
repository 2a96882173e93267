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

/// A line as a shell splits it: quotes, backslashes, `#` before a comment.
/// \param line  its number, for the error. \throws Error EINVAL
std::vector<std::string> split_words(std::string_view text, std::size_t line);

} // namespace flux::submission
