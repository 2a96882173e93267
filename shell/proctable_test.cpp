#include "proctable.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::shell;

namespace {

ProcessMap processes(std::initializer_list<Process> list) {
    ProcessMap map;
    for (const auto& process : list) map[map.size()] = process;
    return map;
}

} // namespace

TEST_CASE("proctable: as recorded", "[shell]") {
    auto one = encode_proctable(processes({{"node", "sleep", 10254, 0}}));
    CHECK(one.dump() == R"({"hosts":["node"],"executables":["sleep"],"ids":[0],"pids":[10254],"ranks":[0]})");
    auto four = encode_proctable(processes(
        {{"vm", "sleep", 23710, 0}, {"vm", "sleep", 23711, 0}, {"vm", "sleep", 23708, 1}, {"vm", "sleep", 23709, 1}}));
    CHECK(four.dump() == R"({"hosts":[["vm",[[-1,-3]]]],"executables":[["sleep",[[-1,-3]]]],"ids":[[0,3]],)"
                         R"("pids":[[23710,1],[-3,1]],"ranks":[[0,-1],[1,-1]]})");
}

TEST_CASE("proctable: hosts with numbers, pairs that repeat", "[shell]") {
    ProcessMap map;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
        for (int task = 0; task < 2; ++task) map[map.size()] = {"n0" + std::to_string(rank + 8), "a", 5, rank};
    auto table = encode_proctable(map);
    CHECK(table["hosts"].dump() == R"([["n0",[[8,-1],[1,-1,2]]]])");
    CHECK(table["ranks"].dump() == "[[0,-1],[1,-1,2]]");
    CHECK(table["pids"].dump() == "[[5,-7]]");
    auto mixed = encode_proctable(processes({{"a1", "x", 1, 0}, {"b", "y", 7, 0}, {"12", "12", 3, 0}}));
    CHECK(mixed["hosts"].dump() == R"(["a1","b","12"])");
    CHECK(mixed["pids"].dump() == "[1,6,-4]");
}
