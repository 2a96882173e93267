#include "cmd/submission/environment_rules.hpp"
#include "cmd/submission/limit_rules.hpp"
#include "cmd/submission/substitute.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace flux;
using namespace flux::submission;

namespace {

Environment apply(const Environment& process, std::initializer_list<const char*> rules) {
    EnvironmentRules environment(process);
    for (const char* rule : rules) environment.apply(rule);
    return environment.environment();
}

} // namespace

TEST_CASE("environment rules apply in order") {
    const Environment process = {{"A", "1"}, {"AB", "2"}, {"B", "3"}};
    CHECK(apply(process, {}) == process);
    CHECK(apply(process, {"-A*"}) == Environment{{"B", "3"}});
    CHECK(apply(process, {"-/A.?/"}) == Environment{{"B", "3"}});
    CHECK(apply(process, {"-/B"}) == Environment{{"A", "1"}, {"AB", "2"}});
    CHECK(apply(process, {"-*", "A"}) == Environment{{"A", "1"}});
    CHECK(apply(process, {"-*", "A=x", "A*"}) == Environment{{"A", "x"}, {"AB", "2"}});
    CHECK(apply(process, {"-*", "X=$A-${AB}-$$"}) == Environment{{"X", "1-2-$"}});
    CHECK(apply(process, {"-*", "A=9", "X=$A"}) == Environment{{"A", "9"}, {"X", "9"}});
}

TEST_CASE("environment rules that are wrong") {
    const Environment process = {{"A", "1"}};
    for (const char* rule : {"X=$NO", "X=${A", "X=$", "X=$-", "=x", "-/(/", "^/no/such/file"}) {
        INFO(rule);
        CHECK_THROWS_AS(apply(process, {rule}), Error);
    }
}

TEST_CASE("environment values with tags go to the shell") {
    const Environment process;
    EnvironmentRules rules(process);
    rules.apply("X={{id}}/$HOME");
    CHECK(rules.environment().empty());
    CHECK(rules.templates() == Environment{{"X", "{{id}}/$HOME"}});
}

TEST_CASE("environment rules from a file") {
    char name[] = "/tmp/flux-rules-XXXXXX";
    int fd = ::mkstemp(name);
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(name) << "-*\n\n  A=1\nB=$A\n";
    const Environment process = {{"Z", "0"}};
    CHECK(apply(process, {("^" + std::string(name)).c_str()}) == Environment{{"A", "1"}, {"B", "1"}});
    std::remove(name);
}

TEST_CASE("limit rules") {
    LimitRules limits;
    CHECK(limits.to_json().contains("nofile"));
    CHECK_FALSE(limits.to_json().contains("memlock"));
    limits.apply("-*");
    CHECK(limits.empty());
    limits.apply("core=16,cpu=unlimited");
    CHECK(limits.to_json().dump() == R"({"cpu":-1,"core":16})");
    limits.apply("memlock");
    CHECK(limits.to_json().contains("memlock"));
    CHECK_THROWS_AS(limits.apply("nosuch"), Error);
    CHECK_THROWS_AS(limits.apply("core=x"), Error);
}

TEST_CASE("substitution") {
    Tags tags = [](std::string_view tag) { return tag == "cc" ? std::optional<std::string>("7") : std::nullopt; };
    CHECK(substitute("a{cc}b{cc}", tags) == "a7b7");
    CHECK(substitute("{{id}}-{cc}", tags) == "{{id}}-7");
    CHECK(substitute("plain", tags) == "plain");
    CHECK_THROWS_AS(substitute("{x}", tags), Error);
    CHECK_THROWS_AS(substitute("{cc", tags), Error);
}
