// Sizes in bytes as people write them: `10M`, `1.5G`, `4096`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flux {

/// A number with an optional `k`, `K`, `M`, `G`, `T`, `P` or `E`, powers of 1024. \throws Error EINVAL
std::uint64_t parse_byte_size(std::string_view text);
/// The size in the largest unit that it fills, with up to 6 significant digits: `10M`, `1.5G`, `100`.
std::string format_byte_size(std::uint64_t bytes);

} // namespace flux
