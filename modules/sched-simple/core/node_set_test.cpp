#include "core/node_set.hpp"

#include <catch2/catch.hpp>

using flux::sched::NodeSet;

TEST_CASE("node set: members and intersections", "[sched]") {
    NodeSet a(10000), b(10000);
    for (std::uint32_t node : {0u, 63u, 64u, 5000u, 9999u}) a.set(node);
    a.set(64);
    for (std::uint32_t node : {63u, 5000u, 7000u}) b.set(node);
    CHECK(a.count() == 5);
    auto members = [](const NodeSet& set, std::initializer_list<const NodeSet*> others) {
        std::vector<std::uint32_t> result;
        set.visit_common(others, [&](std::uint32_t node) { return result.push_back(node), true; });
        return result;
    };
    CHECK(members(a, {}) == std::vector<std::uint32_t>{0, 63, 64, 5000, 9999});
    CHECK(members(a, {nullptr, &b}) == std::vector<std::uint32_t>{63, 5000});
    CHECK(a.count_common({&b}) == 2);
    CHECK(a.count_common({nullptr}) == 5);
    a.reset(5000);
    a.reset(5000);
    CHECK(members(a, {&b}) == std::vector<std::uint32_t>{63});
    CHECK(a.count() == 4);
    std::size_t seen = 0;
    CHECK(!a.visit_common({}, [&](std::uint32_t) { return ++seen < 2; }));
    CHECK(seen == 2);
}
