#include <flux/taskmap.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Error;
using flux::Hostlist;
using flux::Json;
using flux::Taskmap;

TEST_CASE("taskmap: raw lists and what they compress to", "[taskmap]") {
    struct Row {
        const char* raw;
        const char* map;
    };
    auto row = GENERATE(values<Row>({
        {"0", "[[0,1,1,1]]"},
        {"0;1", "[[0,2,1,1]]"},
        {"0-1", "[[0,1,2,1]]"},
        {"0-1;2-3", "[[0,2,2,1]]"},
        {"0,2;1,3", "[[0,2,1,2]]"},
        {"1;0", "[[1,1,1,1],[0,1,1,1]]"},
        {"0-3;4-7;8-11;12-15", "[[0,4,4,1]]"},
        {"0,4,8,12;1,5,9,13;2,6,10,14;3,7,11,15", "[[0,4,1,4]]"},
        {"0-1,8-9;2-3,10-11;4-5,12-13;6-7,14-15", "[[0,4,2,2]]"},
        {"0-1;2-3;4-5;6-7;8-11;12-15", "[[0,4,2,1],[4,2,4,1]]"},
        {"0,6;1,7;2,8;3,9;4,10,12,14;5,11,13,15", "[[0,6,1,2],[4,2,1,2]]"},
        {"14-15;12-13;10-11;8-9;4-7;0-3", "[[5,1,4,1],[4,1,4,1],[3,1,2,1],[2,1,2,1],[1,1,2,1],[0,1,2,1]]"},
        {"0-1;2-3;4-5;6-7;8-9;12-13;10-11;14-15", "[[0,5,2,1],[6,1,2,1],[5,1,2,1],[7,1,2,1]]"},
        {"12-15;8-11;4-7;0-3", "[[3,1,4,1],[2,1,4,1],[1,1,4,1],[0,1,4,1]]"},
    }));
    INFO(row.raw);
    auto map = Taskmap::parse(row.raw);
    CHECK(map.encode() == row.map);
    CHECK(map.encode_raw() == row.raw);
    CHECK(Taskmap::parse(row.map) == map);
    CHECK(Taskmap::from_json(map.to_json()) == map);
    CHECK(Taskmap::parse(map.encode_pmi()).encode_raw() == row.raw);
    std::size_t seen = 0;
    for (auto node : map.nodes()) {
        for (auto task : map.tasks_of(node)) {
            CHECK(map.node_of(task) == node);
            ++seen;
        }
    }
    CHECK(seen == map.ntasks());
    CHECK(!map.node_of(seen));
}

TEST_CASE("taskmap: other forms", "[taskmap]") {
    auto map = Taskmap::parse("[[0,2,1,2]]");
    CHECK(map.to_json().dump() == R"({"version":1,"map":[[0,2,1,2]]})");
    CHECK(map.encode_pmi() == "(vector,(0,2,1),(0,2,1))");
    CHECK(map.ntasks() == 4);
    CHECK(map.nnodes() == 2);
    CHECK(map.tasks_of(1).encode() == "1,3");
    CHECK(map.tasks_of(2).empty());
    CHECK(Taskmap::parse(R"({"version":1,"map":[[0,2,1,2]]})") == map);
    CHECK(Taskmap::parse(" ( vector , (0, 2 ,1) , (0,2,1) ) ").encode_raw() == "0,2;1,3");
    for (auto text : {"", "[]", R"({"version":1,"map":[]})", "(vector)"}) {
        INFO(text);
        CHECK(!Taskmap::parse(text).known());
    }
    CHECK(Taskmap().encode() == "[]");
    CHECK(Taskmap().encode_pmi().empty());
    CHECK(Taskmap().encode_raw().empty());
}

TEST_CASE("taskmap: what does not parse", "[taskmap]") {
    std::string text = GENERATE(
        "x", "0;0", "1", "0;2", "0-1;1-2", "[[0,1,1]]", "[[0,1,1,1,1]]", "[[-1,1,1,1]]", "[[0,0,1,1]]", "[[0,1,0,1]]",
        "[[0,1,1,0]]", "[[0,1,1,1.0]]", "[1]", "{}", R"({"version":2,"map":[]})", R"({"version":1})", "[[0,1,1,1]",
        "(vector,(0,1,1)", "(vector,(0,1))", "(vector,(0,1,1)),", "(vector,)", "vector", "(vector,(0,1,-1))",
        "[[0,4294967295,4294967295,4294967295]]", "[[0,1,4294967295,4294967295]]", "[[0,1048577,1,1]]",
        "[[1048576,1,1,1]]", "[[0,1,16777217,1]]", "[[0,1,16777216,1],[0,1,1,1]]", "0-16777216");
    INFO(text);
    try {
        Taskmap::parse(text);
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.errnum() == EINVAL);
    }
}

TEST_CASE("taskmap: schemes", "[taskmap]") {
    const unsigned counts[] = {4, 2, 3};
    CHECK(Taskmap::block(counts).encode_raw() == "0-3;4-5;6-8");
    CHECK(Taskmap::cyclic(counts).encode_raw() == "0,3,6,8;1,4;2,5,7");
    CHECK(Taskmap::cyclic(counts, 2).encode_raw() == "0-1,6-7;2-3;4-5,8");
    CHECK_THROWS_AS(Taskmap::cyclic(counts, 0), Error);
    const unsigned even[] = {2, 2};
    CHECK(Taskmap::block(even).encode() == "[[0,2,2,1]]");
    CHECK(Taskmap::cyclic(even).encode() == "[[0,2,1,2]]");

    auto nodes = Hostlist::parse("n[0-2]");
    CHECK(Taskmap::hostfile("n2,n0\n\nn1\n", nodes, 5).encode_raw() == "1,4;2;0,3");
    CHECK(Taskmap::hostfile("n0,n0,n1", nodes, 6).encode_raw() == "0-1,3-4;2,5");
    CHECK_THROWS_WITH(Taskmap::hostfile("n0\nn3", nodes, 2), Catch::Contains("n3"));
    CHECK_THROWS_AS(Taskmap::hostfile("\n", nodes, 2), Error);

    auto map = Taskmap::parse("0-1;2-3");
    CHECK_NOTHROW(map.require(4, 2));
    CHECK_THROWS_WITH(map.require(5, 2), Catch::Contains("got 4 total tasks, expected 5"));
    CHECK_THROWS_WITH(map.require(4, 3), Catch::Contains("got 2 total nodes, expected 3"));
}
