#include "fuzz.hpp"

#include <flux/blobref.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto text = fuzz::text(data, size);
        auto blobref = flux::Blobref::parse(text);
        auto written = blobref.to_string();
        fuzz::require(flux::Blobref::parse(written) == blobref && flux::Blobref::is_valid(written));
        fuzz::require(flux::Blobref::is_valid(text) == (text == written));
    } catch (const flux::Error&) {}
    return 0;
}
