#include "cmd/snapshot/archive_reader.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::snapshot;

TEST_CASE("keys of paths") {
    CHECK(key_of_path("./a//b/") == std::vector<std::string>{"a", "b"});
    for (auto path : {"", "/", ".", "../a", "a.b", "a/..", "a/.b"}) CHECK_THROWS_AS(key_of_path(path), Error);
}
