#include "fuzz.hpp"

#include <flux/hostlist.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto list = flux::Hostlist::parse(fuzz::text(data, size));
        if (list.size() > 1000) return 0; // what follows looks at every host
        for (auto host : list) fuzz::require(list.find(host).has_value());
        auto sorted = list, unique = list;
        sorted.sort();
        unique.sort_unique();
        fuzz::require(sorted.size() == list.size() && unique.size() <= list.size());
        auto rest = list;
        fuzz::require(rest.remove(sorted) == list.size() && rest.empty());
        auto encoded = list.encode();
        // Brackets in a suffix stand for themselves, but read again they are ranges.
        bool plain = true;
        for (auto host : list) plain = plain && host.find('[') == host.npos;
        if (plain) fuzz::require(flux::Hostlist::parse(encoded) == list);
    } catch (const flux::Error&) {}
    return 0;
}
