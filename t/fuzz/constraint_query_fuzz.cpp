#include "fuzz.hpp"

#include <flux/constraint_query.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto query = flux::parse_constraint_query(fuzz::text(data, size), flux::ConstraintQueryRules::for_resources());
        fuzz::require(query.is_object());
    } catch (const flux::Error&) {}
    return 0;
}
