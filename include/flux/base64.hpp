// Base64 (RFC 4648, with padding).
#pragma once

#include <string>
#include <string_view>

namespace flux {

std::string base64_encode(std::string_view bytes);
/// \throws Error EPROTO when the text is not base64: foreign character, missing padding, trailing bits that are not 0.
std::string base64_decode(std::string_view text);

} // namespace flux
