#include "fuzz.hpp"

#include <flux/base64.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto text = fuzz::text(data, size);
        fuzz::require(flux::base64_decode(flux::base64_encode(text)) == text);
        fuzz::require(flux::base64_encode(flux::base64_decode(text)) == text);
    } catch (const flux::Error&) {}
    return 0;
}
