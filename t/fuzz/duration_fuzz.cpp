#include "fuzz.hpp"

#include <flux/duration.hpp>

#include <cmath>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto seconds = flux::parse_duration(fuzz::text(data, size));
        auto again = flux::parse_duration(flux::format_duration(seconds));
        fuzz::require(seconds == again || std::abs(seconds - again) <= seconds * 1e-5);
    } catch (const flux::Error&) {}
    return 0;
}
