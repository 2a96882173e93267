#include "cmd/snapshot/archive_reader.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t some = 4096, entries = 100;
    try {
        auto reader = flux::snapshot::ArchiveReader::of_bytes(fuzz::text(data, size));
        flux::snapshot::ArchiveReader::Entry entry;
        for (std::size_t i = 0; i < entries && reader.next(entry); ++i) {
            std::string joined;
            fuzz::require(!entry.path.empty());
            for (const auto& name : entry.path) {
                fuzz::require(!name.empty() && name.find_first_of("./") == name.npos);
                joined += "/" + name;
            }
            fuzz::require(flux::snapshot::key_of_path(joined) == entry.path);
            if (!entry.link) fuzz::require(reader.read(some).size() <= some);
        }
    } catch (const flux::Error&) {}
    return 0;
}
