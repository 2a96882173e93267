#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <pmi/process_mapping.hpp>

using namespace flux::pmi;
using Blocks = std::vector<MapBlock>;
using Ranks = std::vector<unsigned>;

TEST_CASE("pmi process mapping: text and back", "[pmi]") {
    const Blocks blocks = {{0, 4, 2}, {4, 2, 4}};
    CHECK(process_mapping(blocks) == "(vector,(0,4,2),(4,2,4))");
    CHECK(parse_process_mapping("(vector,(0,4,2),(4,2,4))") == blocks);
    CHECK(process_mapping(Blocks{{0, 2, 1, 2}}) == "(vector,(0,2,1),(0,2,1))");
    CHECK(process_mapping({}).empty());
    CHECK(parse_process_mapping("( vector, (0, 1, 1) )") == Blocks{{0, 1, 1}});
}

TEST_CASE("pmi process mapping: task maps", "[pmi]") {
    const Blocks blocks = {{0, 6, 1, 2}, {4, 2, 1, 2}};
    CHECK(parse_taskmap("[[0,6,1,2],[4,2,1,2]]") == blocks);
    CHECK(parse_taskmap(R"({"version":1,"map":[[0,6,1,2],[4,2,1,2]]})") == blocks);
    CHECK(parse_taskmap(R"({ "map": [ [0, 6, 1, 2], [4, 2, 1, 2] ], "version": 1 })") == blocks);
    CHECK(parse_taskmap("[]").empty());
}

TEST_CASE("pmi process mapping: other text is refused", "[pmi]") {
    const auto text =
        GENERATE(as<std::string>(), "", "vector", "(vector", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(-1,1,1))",
                 "(vector,(0,1,1)", "(vector,(0,1,1))x", "(vector,(0,1,99999999999))");
    CAPTURE(text);
    CHECK_THROWS_AS(parse_process_mapping(text), flux::Error);
    const auto map = GENERATE(as<std::string>(), "", "[", "[[0,1,1]]", "[[0,1,1,0]]", "[[0,1,1,1],]", "{}",
                              R"({"version":2,"map":[]})", R"({"version":1})", R"({"map":[])", "[]]");
    CAPTURE(map);
    CHECK_THROWS_AS(parse_taskmap(map), flux::Error);
}

TEST_CASE("pmi process mapping: who shares a node", "[pmi]") {
    CHECK(clique(Blocks{{0, 2, 2}}, 3, 4) == Ranks{2, 3});
    CHECK(clique(Blocks{{0, 2, 1, 2}}, 1, 4) == Ranks{1, 3});
    CHECK(clique(Blocks{{0, 2, 1}}, 0, 5) == Ranks{0, 2, 4});
    CHECK(clique(Blocks{{0, 1, 1000000000, 1000000000}}, 1, 3) == Ranks{0, 1, 2});
    CHECK(clique(Blocks{}, 7, 9) == Ranks{7});
}
