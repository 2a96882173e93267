#include "fuzz.hpp"

#include <flux/idset.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto text = fuzz::text(data, size);
        auto half = text.find('\n');
        auto a = flux::Idset::parse(text.substr(0, half));
        fuzz::require(flux::Idset::parse(a.encode()) == a);
        fuzz::require(flux::Idset::parse(a.encode_with_brackets()) == a);
        if (half == text.npos) return 0;
        auto b = flux::Idset::parse(text.substr(half + 1));
        auto common = a & b;
        fuzz::require(((a - b) | common) == a && ((a | b) - a) == b - a);
        fuzz::require(a.intersects(b) == !common.empty() && a.includes(b) == (common == b));
        fuzz::require((a | b).count() + common.count() == a.count() + b.count());
        for (auto range : b.ranges()) a.clear(range.first, range.last);
        fuzz::require(!a.intersects(b));
        for (auto range : b.ranges()) a.set(range.first, range.last);
        fuzz::require(a.includes(b));
    } catch (const flux::Error&) {}
    return 0;
}
