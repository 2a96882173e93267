#include "defaults.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace flux;

namespace {

std::string filled(const char* system, const char* config) {
    auto jobspec = Json::object("attributes", Json::object("system", Json::parse(system)));
    job_ingest::apply_defaults(jobspec, Json::parse(config));
    return jobspec.find("attributes.system").dump_sorted();
}

constexpr const char* queues = R"({"policy":{"jobspec":{"defaults":{"system":{"duration":"1h","queue":"batch"}}}},
    "queues":{"batch":{"requires":["b"]},
              "debug":{"policy":{"jobspec":{"defaults":{"system":{"duration":"30m"}}}}},
              "fast":{"parent":"batch","policy":{"jobspec":{"defaults":{"system":{"project":"p"}}}}}}})";

} // namespace

TEST_CASE("ingest: nothing is filled in without configuration", "[job-ingest]") {
    CHECK(filled(R"({"duration":0})", "{}") == R"({"duration":0})");
}

TEST_CASE("ingest: defaults of the instance and of queues", "[job-ingest]") {
    CHECK(filled(R"({"duration":0})", R"({"policy":{"jobspec":{"defaults":{"system":{"duration":60}}}}})") ==
          R"({"duration":60})");
    CHECK(filled(R"({"duration":5})", queues) ==
          R"({"constraints":{"properties":["b"]},"duration":5,"queue":"batch"})");
    CHECK(filled(R"({"queue":"debug","duration":0})", queues) == R"({"duration":1800.0,"queue":"debug"})");
    CHECK(filled(R"({"queue":"fast"})", queues) ==
          R"({"constraints":{"properties":["b"]},"duration":3600.0,"project":"p","queue":"fast"})");
    CHECK_THROWS_WITH(filled(R"({"queue":"x"})", queues), "invalid queue 'x' specified");
    CHECK_THROWS_WITH(filled("{}", R"({"queues":{"a":{}}})"), "no queue specified");
}

TEST_CASE("ingest: constraints of a queue come on top", "[job-ingest]") {
    CHECK(filled(R"({"duration":1,"constraints":{"properties":["a"]}})", queues) ==
          R"({"constraints":{"properties":["a","b"]},"duration":1,"queue":"batch"})");
    CHECK(
        filled(R"({"duration":1,"constraints":{"not":[{"properties":["a"]}]}})", queues) ==
        R"({"constraints":{"and":[{"not":[{"properties":["a"]}]},{"properties":["b"]}]},"duration":1,"queue":"batch"})");
}
