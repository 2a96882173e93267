#include "core/request.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using flux::Json;
using flux::sched::Request;

namespace {

Request read(const char* resources, const char* system = R"({"duration":0})") {
    auto jobspec = Json::object("version", 1, "resources", Json::parse(resources), "attributes",
                                Json::object("system", Json::parse(system)));
    return Request::from_jobspec(jobspec);
}

// nodes min-max x slots per node | slots min-max, cores per slot, gpus, x
std::string numbers(const char* resources) {
    auto r = read(resources);
    auto form = r.by_node() ? fmt::format("{}-{}x{}", r.nodes.min, r.nodes.max, r.slots_per_node)
                            : fmt::format("{}-{}", r.slots.min, r.slots.max);
    return fmt::format("{} c{} g{}{}", form, r.slot_cores, r.slot_gpus, r.exclusive ? " x" : "");
}

} // namespace

TEST_CASE("request: shapes", "[sched]") {
    CHECK(numbers(R"([{"type":"slot","count":4,"with":[{"type":"core","count":2}]}])") == "4-4 c2 g0");
    CHECK(numbers(R"([{"type":"slot","count":"2-8","with":[{"type":"core","count":2},{"type":"gpu","count":1}]}])") ==
          "2-8 c2 g1");
    CHECK(numbers(
              R"([{"type":"node","count":3,"with":[{"type":"slot","count":2,"with":[{"type":"core","count":4}]}]}])") ==
          "3-3x2 c4 g0");
    CHECK(numbers(R"([{"type":"node","count":"2+","exclusive":true,"with":[{"type":"slot","count":1,"with":[)"
                  R"({"type":"core","count":1}]}]}])") == "2-4294967295x1 c1 g0 x");
    CHECK(numbers(R"([{"type":"rack","count":"2-4","with":[{"type":"node","count":3,"with":[{"type":"slot","count":2,)"
                  R"("with":[{"type":"socket","count":2,"with":[{"type":"core","count":4}]}]}]}]}])") == "6-6x2 c4 g0");
    CHECK(numbers(
              R"([{"type":"slot","count":2,"with":[{"type":"node","count":3,"with":[{"type":"core","count":1}]}]}])") ==
          "6-6x1 c1 g0");
    CHECK(numbers(R"([{"type":"slot","count":3,"exclusive":true,"with":[{"type":"core","count":1}]}])") ==
          "3-3x1 c1 g0 x");
}

TEST_CASE("request: attributes", "[sched]") {
    constexpr const char* one = R"([{"type":"slot","count":1,"with":[{"type":"core","count":1}]}])";
    CHECK(read(one, R"({"duration":1.5})").duration == 1.5);
    CHECK(read(one, R"({"duration":0,"constraints":{}})").constraint.empty());
    CHECK(read(one, R"({"duration":0,"constraints":{"ranks":["0"]}})").constraint == R"({"ranks":["0"]})");
    CHECK(read(one) == read(one));
    CHECK(read(one) < read(one, R"({"duration":1})"));
    CHECK_THROWS_WITH(read(one, "{}"), "getting duration: Object item not found: duration");
    CHECK_THROWS_WITH(Request::from_jobspec(Json::object("version", 1, "resources", Json::parse(one))),
                      "getting duration: Object item not found: system");
    CHECK(Request::from_jobspec(Json::object("version", 2, "resources", Json::parse(one))).duration == 0);
}

TEST_CASE("request: what cannot be read or served", "[sched]") {
    CHECK_THROWS_WITH(read("[]"), "jobspec has no resources");
    CHECK_THROWS_WITH(read(R"([{"type":"core","count":1}])"), "Unable to determine slot count");
    CHECK_THROWS_WITH(read(R"([{"type":"slot","count":1}])"), "Unable to determine slot size");
    CHECK_THROWS_WITH(read(R"([{"type":"slot","count":0}])"), "RFC 14 count: integer count must be >= 1, got 0");
    CHECK_THROWS_AS(read(R"([{"type":"slot","count":"2+:2","with":[{"type":"core","count":1}]}])"), flux::Error);
    std::string deep = "[]";
    for (int i = 0; i < 200; ++i) deep = R"([{"type":"x","count":9,"with":)" + deep + "}]";
    CHECK_THROWS_AS(read(deep.c_str()), flux::Error);
    CHECK(read(R"([{"type":"slot","count":"2-8:2","with":[{"type":"core","count":1}]}])").unsupported ==
          "slot count specifies discrete valid values that this scheduler does not support; use a simple min-max range "
          "instead");
    CHECK(
        read(R"([{"type":"node","count":"2,4","with":[{"type":"slot","count":1,"with":[{"type":"core","count":1}]}]}])")
            .unsupported.starts_with("node count specifies discrete"));
}
