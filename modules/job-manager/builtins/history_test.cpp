#include "builtins.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using flux::job_manager::slice_positions;

TEST_CASE("history: slices are Python's", "[job-manager]") {
    using Positions = std::vector<std::size_t>;
    CHECK(slice_positions("[:]", 3) == Positions{0, 1, 2});
    CHECK(slice_positions("[:1]", 3) == Positions{0});
    CHECK(slice_positions("[1:]", 3) == Positions{1, 2});
    CHECK(slice_positions("[-2:]", 3) == Positions{1, 2});
    CHECK(slice_positions("[:-1]", 3) == Positions{0, 1});
    CHECK(slice_positions("[::2]", 5) == Positions{0, 2, 4});
    CHECK(slice_positions("[::-1]", 3) == Positions{2, 1, 0});
    CHECK(slice_positions("[5:1:-2]", 10) == Positions{5, 3});
    CHECK(slice_positions("[:100]", 2) == Positions{0, 1});
    CHECK(slice_positions("[-100:]", 2) == Positions{0, 1});
    CHECK(slice_positions("[3:]", 2).empty());
    CHECK(slice_positions("[:]", 0).empty());
    CHECK(slice_positions("[::9223372036854775807]", 2) == Positions{0});
    for (auto* bad : {"", "[", "[]", "[1]", "1:2", "[a:b]", "[1:2:3:4]", "[::0]", "[1:2", "[ 1:2]"})
        CHECK_THROWS_AS(slice_positions(bad, 3), Error);
}
