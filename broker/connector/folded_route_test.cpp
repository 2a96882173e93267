#include "broker/connector/folded_route.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace flux;
using namespace flux::broker;

TEST_CASE("folded route: back to what it was", "[connector]") {
    const std::vector<std::vector<std::string>> routes{
        {}, {"a"}, {"first", "second", "third"}, {"\xff\xff\xff", "\xfb\xef\xbe"}, {"with/slash", "with,comma"}};
    for (const auto& ids : routes) {
        RouteStack route;
        for (const auto& id : ids) route.push(id);
        auto folded = fold_route(route, "12-34");
        CHECK(client_of(folded) == "12-34");
        CHECK(unfold_route(folded).key() == route.key());
        CHECK((folded == "12-34") == ids.empty());
    }
}

TEST_CASE("folded route: bounds", "[connector]") {
    RouteStack route;
    for (int i = 0; i < 100; ++i) route.push(std::string(36, 'x'));
    CHECK_THROWS_AS(fold_route(route, "u"), Error);
}
