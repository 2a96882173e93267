// The forms of a job id that need a table. Decoders give nothing for texts that are no id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flux::job_id_forms {

std::string encode_words(std::uint64_t value);
std::optional<std::uint64_t> decode_words(std::string_view input);

std::string encode_emoji(std::uint64_t value);
std::optional<std::uint64_t> decode_emoji(std::string_view input);

} // namespace flux::job_id_forms
