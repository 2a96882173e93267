#include "blob_cache.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace flux;
using namespace std::chrono_literals;

namespace {

Blobref ref(char name) { return Blobref(HashKind::sha1, std::string(20, name)); }
Payload blob(std::size_t size) { return Payload::from_bytes(std::string(size, 'x')); }
BlobCache::Time at(int seconds) { return BlobCache::Time() + seconds * 1s; }

} // namespace

TEST_CASE("blob cache: clean blobs go, the longest unused first", "[content]") {
    BlobCache cache;
    cache.insert(ref('a'), blob(10), at(1));
    cache.insert(ref('b'), blob(10), at(2));
    cache.insert(ref('c'), blob(10), at(3));
    CHECK(cache.size() == 30);
    CHECK(cache.get(ref('a'), at(4))->bytes().size() == 10);
    CHECK_FALSE(cache.get(ref('z'), at(4)));

    cache.purge(30, at(100));
    CHECK(cache.count() == 3);
    cache.purge(15, at(3));
    CHECK(cache.count() == 2); // only b is old
    CHECK_FALSE(cache.peek(ref('b')));
    cache.purge(15, at(100));
    CHECK(cache.count() == 1);
    CHECK(cache.peek(ref('a')));
    CHECK(cache.drop_clean() == 1);
    CHECK(cache.size() == 0);
}

TEST_CASE("blob cache: dirty blobs stay", "[content]") {
    BlobCache cache;
    CHECK(cache.insert_dirty(ref('a'), blob(10), at(1)));
    CHECK_FALSE(cache.insert_dirty(ref('a'), blob(10), at(1)));
    cache.insert(ref('b'), {}, at(1));
    CHECK(cache.dirty(ref('a')));
    CHECK_FALSE(cache.dirty(ref('b')));
    cache.purge(0, at(100));
    CHECK(cache.drop_clean() == 0);
    CHECK(cache.count() == 1);
    CHECK(cache.dirty_count() == 1);

    cache.mark_clean(ref('a'), at(2));
    CHECK(cache.dirty_count() == 0);
    SECTION("stored again they are dirty again") {
        CHECK(cache.insert_dirty(ref('a'), blob(10), at(3)));
        cache.purge(0, at(100));
        CHECK(cache.size() == 10);
        cache.erase(ref('a'));
        CHECK(cache.count() == 0);
        CHECK(cache.size() == 0);
        CHECK(cache.dirty_count() == 0);
    }
    SECTION("clean they go") {
        cache.purge(0, at(100));
        CHECK(cache.count() == 0);
    }
}
