#include "cpu_option.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::shell;

TEST_CASE("affinity: sets of cpus", "[shell]") {
    const char* cases[][2] = {{"0-3,8", "0-3,8"},      {"0xff", "0-7"},        {"0x10", "4"},
                              {"0x1,0x0", "32"},       {"0x1,,0x3", "0-1,64"}, {"0x3,0x80000000", "31-33"},
                              {"0xF00000000", "32-35"}};
    for (auto& [text, cpus] : cases) CHECK(parse_cpus(text).encode() == cpus);
    for (const char* text : {"", "0x", "0x0", "x", "0xg", "0x1,3", "0x123456789,0x0", "3-1"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_cpus(text), Error);
    }
}

TEST_CASE("affinity: the option", "[shell]") {
    CHECK(CpuOption::parse("off").off);
    CHECK_FALSE(CpuOption::parse("on").off);
    CHECK_FALSE(CpuOption::parse("").per_task);
    auto option = CpuOption::parse("verbose,per-task");
    CHECK(option.verbose);
    CHECK(option.per_task);
    CHECK_FALSE(option.dry_run);
    option = CpuOption::parse("dry-run,map:0-1;0x8");
    CHECK(option.dry_run);
    REQUIRE(option.map.size() == 2);
    CHECK(option.map[0].encode() == "0-1");
    CHECK(option.map[1].encode() == "3");
    CHECK_THROWS_AS(CpuOption::parse("map:"), Error);
    CHECK_THROWS_AS(CpuOption::parse("map:0;;1"), Error);
}

TEST_CASE("affinity: cores are divided among tasks", "[shell]") {
    auto divided = [](const char* cores, std::size_t ntasks) {
        std::string text;
        for (const auto& set : divide_cores(Idset::parse(cores), ntasks)) text += set.encode() + ';';
        return text;
    };
    CHECK(divided("0-3", 2) == "0-1;2-3;");
    CHECK(divided("0-3", 4) == "0;1;2;3;");
    CHECK(divided("0-4", 2) == "0-2;3-4;");
    CHECK(divided("0-1", 4) == "0;0;1;1;");
    CHECK(divided("", 2) == ";;");
}

TEST_CASE("affinity: cpus of cores", "[shell]") {
    const std::vector<Idset> machine = {Idset{0, 4}, Idset{1, 5}};
    CHECK(cpus_of(Idset{0, 1}, machine)->encode() == "0-1,4-5");
    CHECK(cpus_of(Idset{1}, machine)->encode() == "1,5");
    CHECK_FALSE(cpus_of(Idset{2}, machine));
}
