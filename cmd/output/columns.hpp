// Text measured in the columns of a terminal. Text is UTF-8 whatever the locale; a byte that is none counts as one
// column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flux::output {

/// Take the first code point off `text`, which must not be empty. A byte that is no UTF-8 gives U+FFFD.
char32_t take_code_point(std::string_view& text) noexcept;
std::string encode_utf8(char32_t code_point);

std::size_t columns(std::string_view text) noexcept;
/// The longest beginning of `text` that fits into `width` columns.
std::string_view cut(std::string_view text, std::size_t width) noexcept;
/// `text` cut to `width` columns, the last of them a `+`, when it is wider than that.
std::string cut_marked(std::string_view text, std::size_t width);
/// \param align  `<`, `>` or `^`.
/// \param fill   one code point.
std::string pad(std::string_view text, std::size_t width, char align, std::string_view fill = " ");

} // namespace flux::output
