#include "fuzz.hpp"

#include <flux/io_data.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto io = flux::IoData::decode(flux::Json::parse(fuzz::text(data, size)));
        auto again = flux::IoData::decode(io.encode());
        fuzz::require(again.data == io.data && again.eof == io.eof && again.rank == io.rank);
    } catch (const flux::Error&) {}
    return 0;
}
