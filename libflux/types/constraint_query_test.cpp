#include <flux/constraint_query.hpp>

#include <catch2/catch.hpp>

using flux::ConstraintQueryRules;
using flux::parse_constraint_query;

namespace {
std::string requires_text(std::string_view query) {
    return parse_constraint_query(query, ConstraintQueryRules::for_resources()).dump();
}
// The form of the reference's examples: the default operator `p`, nothing combined.
std::string plain(std::string_view query) {
    ConstraintQueryRules rules;
    rules.default_operator = "p";
    return parse_constraint_query(query, rules).dump();
}
} // namespace

TEST_CASE("constraint query: precedence and folding", "[constraint]") {
    CHECK(plain("a or b and c") == R"({"or":[{"p":["a"]},{"and":[{"p":["b"]},{"p":["c"]}]}]})");
    CHECK(plain("not a b") == R"({"and":[{"not":[{"p":["a"]}]},{"p":["b"]}]})");
    CHECK(plain("not a or b") == R"({"or":[{"not":[{"p":["a"]}]},{"p":["b"]}]})");
    CHECK(plain("a or b || c|d") == R"({"or":[{"p":["a"]},{"p":["b"]},{"p":["c"]},{"p":["d"]}]})");
    CHECK(plain("a b && c&d") == R"({"and":[{"p":["a"]},{"p":["b"]},{"p":["c"]},{"p":["d"]}]})");
    CHECK(plain("(a|b) c") == R"({"and":[{"or":[{"p":["a"]},{"p":["b"]}]},{"p":["c"]}]})");
    CHECK(plain("-a -x:b") == R"({"and":[{"not":[{"p":["a"]}]},{"not":[{"x":["b"]}]}]})");
    CHECK(plain("not(a)") == R"({"not":[{"p":["a"]}]})");
    CHECK(plain("notfoo android") == R"({"and":[{"p":["notfoo"]},{"p":["android"]}]})");
    CHECK(plain("  ") == "{}");
}

TEST_CASE("constraint query: terms", "[constraint]") {
    CHECK(plain("op:\"x y\"") == R"({"op":["x y"]})");
    CHECK(plain("b@d:x") == R"({"b@d":["x"]})");
    CHECK(plain("'a b'") == R"({"p":["a b"]})");
    CHECK(requires_text("a,b") == R"({"properties":["a","b"]})");
    CHECK(requires_text("properties:a properties:b") == R"({"properties":["a","b"]})");
    CHECK(requires_text("a b host:n[0-3]") == R"({"and":[{"properties":["a","b"]},{"hostlist":["n[0-3]"]}]})");
    CHECK(requires_text("host:x a b") == R"({"and":[{"hostlist":["x"]},{"properties":["a","b"]}]})");
    CHECK(requires_text("rank:0-3|-hosts:n1") == R"({"or":[{"ranks":["0-3"]},{"not":[{"hostlist":["n1"]}]}]})");
    CHECK(requires_text("^gpu") == R"({"properties":["^gpu"]})");
}

TEST_CASE("constraint query: errors name the place", "[constraint]") {
    CHECK_THROWS_WITH(plain("-(a&b)"), "Invalid token '(' at position 1");
    CHECK_THROWS_WITH(plain("(a"), "Unclosed parenthesis in position 0");
    CHECK_THROWS_WITH(plain("a)"), "Mismatched parentheses starting at position 1.");
    CHECK_THROWS_WITH(plain("op:"), "Missing argument to token 'op:'");
    CHECK_THROWS_WITH(plain("x^y:z"), "invalid character '^' in operator 'x^y:'");
    CHECK_THROWS_WITH(plain("a&"), "Unexpected end of input in 'a&'");
    CHECK_THROWS_WITH(plain("a or or b"), "Invalid token 'or' at position 5");
    CHECK_THROWS_WITH(plain("'a"), "Unclosed quote in position 0");
    CHECK_THROWS_WITH(parse_constraint_query("a", {}), "Missing required operator in \"a\"");
    CHECK_THROWS_WITH(plain(std::string(5000, '(')), "query is nested too deeply");
}
