#include "broker/overlay/link/address.hpp"
#include "broker/overlay/link/public_key.hpp"
#include "fuzz.hpp"

// What a business card has: addresses and a key.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace flux::broker;
    auto text = fuzz::text(data, size);
    try {
        auto address = Address::parse(text);
        fuzz::require(Address::parse(address.to_string()) == address);
    } catch (const flux::Error&) {}
    try {
        auto key = PublicKey::parse(text);
        fuzz::require(PublicKey::parse(key.to_string()) == key);
    } catch (const flux::Error&) {}
    return 0;
}
