#include "fuzz.hpp"

#include <flux/treeobj.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        namespace treeobj = flux::treeobj;
        auto object = treeobj::decode(fuzz::text(data, size));
        auto bytes = treeobj::encode(object);
        fuzz::require(treeobj::encode(treeobj::decode(bytes)) == bytes);
        switch (treeobj::type_of(object)) {
        case treeobj::Type::val: treeobj::value_of(object); break;
        case treeobj::Type::valref:
        case treeobj::Type::dirref: fuzz::require(!treeobj::blobrefs_of(object).empty()); break;
        case treeobj::Type::dir: treeobj::entries_of(object); break;
        case treeobj::Type::symlink: treeobj::link_of(object); break;
        }
    } catch (const flux::Error&) {}
    return 0;
}
