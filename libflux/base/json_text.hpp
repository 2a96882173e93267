// JSON text to and from jansson's values. It does what jansson's own functions do, which take text byte by byte and so
// cost more than all else that happens to a message with a long string in it, and which write 0.05 with 17 digits.
#pragma once

#include <jansson.h>

#include <string>
#include <string_view>

namespace flux::detail {

/// The one value in `text`; null when it is malformed, or odd enough to leave it to jansson to say what it is.
json_t* parse_plain_json(std::string_view text);

/// Append the compact text of `value`.
void append_json(std::string& out, const json_t* value, bool sort_keys);

/// What append_json() made with a line for each member and element, `width` blanks for each level.
std::string indent_json(std::string_view compact, unsigned width);

} // namespace flux::detail
