#include "discovery.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::resource;

TEST_CASE("discovery: cores are counted once", "[resource]") {
    auto pairs = [](Idset::Id cpu) { return std::optional<Idset>(Idset{cpu % 4, cpu % 4 + 4}); };
    CHECK(count_cores(Idset::below(8), pairs) == 4);
    CHECK(count_cores(Idset{0, 1, 5}, pairs) == 2);
    CHECK(count_cores(Idset{6}, pairs) == 1);
    auto unknown = [](Idset::Id) { return std::optional<Idset>(); };
    CHECK(count_cores(Idset{0, 3}, unknown) == 2);
    CHECK(count_cores(Idset(), unknown) == 0);
}

TEST_CASE("discovery: this host has cores", "[resource]") {
    auto here = discover(true)["core"];
    CHECK(here.count() > 0);
    CHECK(*here.last() == here.count() - 1);
    CHECK(discover(false)["core"].includes(here));
}
