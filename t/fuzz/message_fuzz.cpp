#include "fuzz.hpp"

#include <flux/message.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        flux::FrameDecoder decoder;
        decoder.feed(fuzz::text(data, size));
        while (auto message = decoder.next()) {
            auto body = flux::encode_body(*message);
            fuzz::require(flux::encode_body(flux::decode_body(body)) == body);
        }
    } catch (const flux::Error&) {}
    return 0;
}
