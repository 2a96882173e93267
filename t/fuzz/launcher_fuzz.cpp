#include "fuzz.hpp"

#include <flux/launcher_protocol.hpp>

namespace {

template <class Body> void check(std::string_view bytes) {
    Body body;
    if (!body.decode(bytes)) return;
    Body again;
    fuzz::require(again.decode(body.encode()) && again.encode() == body.encode());
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check<flux::launcher_protocol::StartBody>(fuzz::text(data, size));
    check<flux::launcher_protocol::ProcessBody>(fuzz::text(data, size));
    return 0;
}
