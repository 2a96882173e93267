#include "verify.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using flux::resource::Verification;

namespace {

ResourceSet set_of(const char* host, const char* cores, const char* gpus) {
    Children children;
    children.set("core", Idset::parse(cores));
    children.set("gpu", Idset::parse(gpus));
    ResourceSet result;
    result.add(0, host, children);
    return result;
}

Verification verification(const char* text) { return Verification(Json::parse(text)); }

} // namespace

TEST_CASE("verify: the default lets more pass, and any gpu", "[resource]") {
    Verification verify;
    auto wanted = set_of("a", "0-3", "0");
    CHECK(verify.check(0, wanted, set_of("a", "0-7", "")).empty());
    CHECK(verify.check(0, wanted, set_of("a", "0-1", "0")) == "rank 0 (a) missing resources: core[2-3]");
    CHECK(verify.check(0, wanted, set_of("b", "0-3", "0")) == "rank 0 got hostname 'b', expected 'a'");
    CHECK(verify.check(1, wanted, wanted) == "rank 1 not found in expected ranks");
}

TEST_CASE("verify: modes", "[resource]") {
    auto wanted = set_of("a", "0-3", "0");
    CHECK(verification("true").check(0, wanted, set_of("a", "0-1", "")) ==
          "rank 0 (a) missing resources: core[2-3],gpu0");
    CHECK(verification("{}").check(0, wanted, set_of("a", "0-7", "0")) == "rank 0 (a) has extra resources: core[4-7]");
    CHECK(verification("false").check(0, wanted, set_of("b", "0", "")).empty());
    auto missing = verification(R"({"default":"allow-missing","hostname":"ignore"})");
    CHECK(missing.check(0, wanted, set_of("b", "0", "")).empty());
    CHECK_FALSE(missing.check(0, wanted, set_of("b", "0-4", "")).empty());
    CHECK_THROWS_WITH(verification("1"), "verify must be a table or boolean");
    CHECK_THROWS_WITH(verification(R"({"core":1})"), "verify.core mode must be a string");
    CHECK_THROWS_WITH(verification(R"({"core":"x"})"), "verify.core: unknown verify mode 'x'");
    CHECK_THROWS_WITH(verification(R"({"disk":"strict"})"), "verify: unsupported resource type: disk");
}
