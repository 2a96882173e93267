#include "drain.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::resource;

namespace {
std::string text(const DrainTable& table) { return table.to_json().dump(); }
} // namespace

TEST_CASE("drain: what overwrite does to drained ranks", "[resource]") {
    DrainTable table;
    table.drain(Idset{1, 2}, 100.2, std::nullopt, 0);
    CHECK(text(table) == R"({"1-2":{"timestamp":100.0,"reason":""}})");
    table.drain(Idset{2, 3}, 200, "fan", 0);
    CHECK(text(table) == R"({"1":{"timestamp":100.0,"reason":""},"2":{"timestamp":100.0,"reason":"fan"},)"
                         R"("3":{"timestamp":200.0,"reason":"fan"}})");
    table.drain(Idset{2}, 300, "other", 0);
    CHECK(table.to_json()["2"].get<std::string>("reason") == "fan");
    table.drain(Idset{2}, 300, "other", 1);
    CHECK(table.to_json()["2"].dump() == R"({"timestamp":100.0,"reason":"other"})");
    table.drain(Idset{2}, 300, "other", 2);
    CHECK(table.to_json()["2"].dump() == R"({"timestamp":300.0,"reason":"other"})");
    table.drain(Idset{2}, 300, std::nullopt, 1);
    CHECK(table.explained() == Idset{3});
    table.undrain(Idset{2, 3, 7});
    CHECK(table.ranks() == Idset{1});
    CHECK(text(table) == R"({"1":{"timestamp":100.0,"reason":""}})");
}

TEST_CASE("drain: what is refused", "[resource]") {
    DrainTable table;
    table.drain(Idset{1}, 100, std::nullopt, 0);
    table.drain(Idset{2, 3}, 100, "", 0);
    Idset none;
    CHECK_NOTHROW(table.check_drain(Idset{0, 1}, none, DrainMode::none));
    CHECK_THROWS_WITH(table.check_drain(Idset{1, 2}, none, DrainMode::none), "rank 2 already drained");
    CHECK_THROWS_WITH(table.check_drain(Idset{1, 2, 3}, none, DrainMode::none), "ranks 2-3 already drained");
    CHECK_THROWS_WITH(table.check_drain(Idset{0, 1}, Idset{0}, DrainMode::none), "rank 0 excluded");
    CHECK_THROWS_WITH(table.check_drain(Idset{0, 2}, Idset{0}, DrainMode::none),
                      "ranks 0,2 already drained or excluded");
    for (auto mode : {DrainMode::update, DrainMode::overwrite, DrainMode::force_overwrite})
        CHECK_NOTHROW(table.check_drain(Idset{0, 2}, Idset{0}, mode));
    CHECK_THROWS_WITH(table.check_undrain(Idset{0, 1}, DrainMode::none), "rank 0 not drained");
    CHECK_NOTHROW(table.check_undrain(Idset{0, 1}, DrainMode::update));
    CHECK_THROWS_WITH(parse_drain_mode(Json::object("mode", "x"), "invalid undrain mode '{}' specified"),
                      "invalid undrain mode 'x' specified");
}
