#include "fuzz.hpp"

#include <flux/sign.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto request = flux::SignedRequest::unwrap(fuzz::text(data, size));
        auto again = flux::SignedRequest::unwrap(flux::SignedRequest::sign(request.payload, request.userid));
        fuzz::require(again.payload == request.payload && again.userid == request.userid);
    } catch (const flux::Error&) {}
    return 0;
}
