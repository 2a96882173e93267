#include "directory_cache.hpp"

#include <flux/hash.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::kvs_store;

TEST_CASE("cache: what was used longest ago, or is replaced, goes first", "[kvs]") {
    std::vector<Blobref> refs;
    for (char c : {'a', 'b', 'c', 'd', 'e'}) refs.push_back(Blobref(HashKind::sha1, std::string(20, c)));
    auto directory = std::make_shared<const Directory>();
    DirectoryCache cache(3 * directory->footprint());
    for (int i : {0, 1, 2}) cache.put(refs[i], directory);
    CHECK(cache.find(refs[0]));
    cache.put(refs[3], directory);
    CHECK(!cache.find(refs[1]));
    cache.retire(refs[0]);
    cache.put(refs[4], directory);
    CHECK(!cache.find(refs[0]));
    CHECK(cache.find(refs[2]));
    CHECK(cache.sizes().count() == 3);
    cache.set_limit(1);
    CHECK(cache.sizes().count() == 1);
    CHECK(cache.find(refs[2]));
    CHECK(cache.bytes() == directory->footprint());
}
