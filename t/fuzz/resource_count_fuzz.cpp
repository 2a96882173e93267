#include "fuzz.hpp"

#include <flux/resource_count.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto count = flux::ResourceCount::parse(fuzz::text(data, size));
        fuzz::require(flux::ResourceCount::parse(count.encode()) == count);
        fuzz::require(count.test(count.min()) && count.min() <= count.max());
    } catch (const flux::Error&) {}
    return 0;
}
