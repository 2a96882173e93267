#include "fuzz.hpp"

#include <flux/resource_set.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto resources = flux::ResourceSet::parse(fuzz::text(data, size));
        auto encoded = resources.encode().dump_sorted();
        fuzz::require(flux::ResourceSet::parse(encoded).encode().dump_sorted() == encoded);
        fuzz::require(resources.without(resources).empty());
    } catch (const flux::Error&) {}
    return 0;
}
