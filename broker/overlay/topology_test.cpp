#include "broker/overlay/topology.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using flux::broker::Topology;

TEST_CASE("topology: schemes", "[topology]") {
    Topology kary("kary:2", 7);
    CHECK(kary.parent(6) == 2u);
    CHECK(!kary.parent(0));
    CHECK(kary.next_hop(0, 6) == 2u);
    CHECK(kary.next_hop(2, 6) == 6u);
    CHECK(!kary.next_hop(1, 6));
    CHECK(!kary.next_hop(0, 7));
    CHECK(kary.descendants(1) == 2);
    CHECK(kary.max_level() == 2);
    CHECK(Topology("kary:0", 9).children(0).size() == 8);
    Topology mincrit("mincrit:2", 6);
    CHECK(mincrit.parent(2) == 0u);
    CHECK(mincrit.parent(3) == 1u);
    CHECK(mincrit.parent(4) == 2u);
    CHECK(Topology("mincrit", 8).max_level() == 1);
    Topology binomial("binomial", 8);
    CHECK(binomial.parent(7) == 6u);
    CHECK(binomial.parent(6) == 4u);
    CHECK(binomial.parent(4) == 0u);
}

TEST_CASE("topology: a size of its own for each scheme", "[topology]") {
    // Without K there is one level as long as rank 0 can have all, then two with few enough below each.
    CHECK(Topology("mincrit", 1025).children(0).size() == 1024);
    CHECK(Topology("mincrit", 1026).children(0).size() == 2);
    CHECK(Topology("mincrit", 1026).max_level() == 2);
    Topology big("mincrit", 100000);
    CHECK(big.children(0).size() == 98);
    CHECK(big.children(1).size() <= 1024);
    CHECK(big.parent(99) == 1u);
    CHECK(big.parent(98) == 0u);
    CHECK(Topology("mincrit:0", 5).children(0).size() == 4);
    Topology binomial("binomial", 16);
    CHECK(binomial.children(0) == std::vector<std::uint32_t>{1, 2, 4, 8});
    CHECK(binomial.children(8) == std::vector<std::uint32_t>{9, 10, 12});
    CHECK(binomial.descendants(8) == 7);
    CHECK(binomial.max_level() == 4);
    for (auto scheme : {"kary:2", "kary:0", "mincrit", "mincrit:3", "binomial"}) {
        CHECK(Topology(scheme, 1).children(0).empty());
        CHECK(Topology(scheme, 50).descendants(0) == 49);
    }
}

TEST_CASE("topology: what is refused", "[topology]") {
    CHECK_THROWS_WITH(Topology("ring", 2), "unknown topology scheme 'ring'");
    CHECK_THROWS_WITH(Topology("kary:x", 2), "kary k value must be an integer >= 0");
    CHECK_THROWS_WITH(Topology("mincrit:-1", 2), "mincrit k value must be an integer >= 0");
    CHECK_THROWS_AS(Topology("kary", 2), flux::Error);
    CHECK_THROWS_AS(Topology("binomial:2", 2), flux::Error);
    CHECK_THROWS_AS(Topology(std::vector<std::uint32_t>{0, 2, 1}), flux::Error);
    CHECK(Topology(std::vector<std::uint32_t>{0, 0, 1}).level(2) == 2);
}
