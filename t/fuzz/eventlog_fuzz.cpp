#include "fuzz.hpp"

#include <flux/eventlog.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto text = fuzz::text(data, size);
        auto entries = flux::decode_eventlog(text);
        flux::EventlogDecoder decoder;
        std::size_t count = 0;
        for (std::size_t at = 0; at < text.size(); at += 7) {
            decoder.feed(text.substr(at, 7));
            while (auto entry = decoder.next()) {
                fuzz::require(entry->encode() == entries.at(count++).encode());
                fuzz::require(flux::EventlogEntry::decode(entry->encode()).encode() == entry->encode());
            }
        }
        fuzz::require(count == entries.size());
    } catch (const flux::Error&) {}
    return 0;
}
