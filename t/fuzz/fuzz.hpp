// What every fuzz target includes. A target feeds foreign bytes to one decoder: it may refuse them with flux::Error and
// nothing else, and what it accepts must survive being written and read again.
#pragma once

#include <flux/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace fuzz
