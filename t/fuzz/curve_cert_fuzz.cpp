#include "broker/overlay/link/curve_cert.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto cert = flux::broker::CurveCert::parse(fuzz::text(data, size));
        fuzz::require(cert.secret_key.size() == 32);
    } catch (const flux::Error&) {}
    return 0;
}
