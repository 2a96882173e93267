#include "fuzz.hpp"

#include <flux/job_id.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto id = flux::JobId::parse(fuzz::text(data, size));
        for (auto form : {"dec", "hex", "dothex", "kvs", "words", "f58", "f58plain", "emoji"})
            fuzz::require(flux::JobId::parse(id.encode(form)) == id);
    } catch (const flux::Error&) {}
    return 0;
}
