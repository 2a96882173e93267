#include <flux/constraint.hpp>
#include <flux/resource_set.hpp>

#include <catch2/catch.hpp>

using flux::Constraint;
using flux::Json;
using flux::ResourceSet;

namespace {

ResourceSet six_nodes() {
    return ResourceSet::parse(
        R"({"version":1,"execution":{"R_lite":[{"rank":"0-5","children":{"core":"0-1"}}],"nodelist":["n[0-5]"],)"
        R"("properties":{"batch":"0-3","debug":"4-5","ssd":"1,4"}}})");
}

std::string select(const char* constraint) {
    return Constraint::compile(Json::parse(constraint)).select(six_nodes()).encode();
}

} // namespace

TEST_CASE("constraint: vectors", "[constraint]") {
    CHECK(select(R"({"properties":["batch"]})") == "0-3");
    CHECK(select(R"({"properties":["^batch"]})") == "4-5");
    CHECK(select(R"({"properties":["batch","ssd"]})") == "1");
    CHECK(select(R"({"properties":["batch","^ssd"]})") == "0,2-3");
    CHECK(select(R"({"hostlist":["n[2-3]"]})") == "2-3");
    CHECK(select(R"({"hostlist":["n0","n5"]})") == "0,5");
    CHECK(select(R"({"ranks":["1","4-5"]})") == "1,4-5");
    CHECK(select(R"({"ranks":["2","10","0"]})") == "0,2");
    CHECK(select(R"({"not":[{"properties":["batch"]}]})") == "4-5");
    CHECK(select(R"({"or":[{"ranks":["0"]},{"properties":["debug"]}]})") == "0,4-5");
    CHECK(select(R"({"and":[{"properties":["ssd"]},{"not":[{"ranks":["1"]}]}]})") == "4");
    CHECK(select(R"({"not":[{"properties":["batch"]},{"properties":["ssd"]}]})") == "0,2-5");
    CHECK(select(R"({"properties":["n3"]})") == "3");
    CHECK(select(R"({"properties":["^n3","batch"]})") == "0-2");
}

TEST_CASE("constraint: empty operands", "[constraint]") {
    CHECK(select("{}") == "0-5");
    CHECK(select(R"({"and":[]})") == "0-5");
    CHECK(select(R"({"or":[]})") == "0-5");
    CHECK(select(R"({"not":[]})") == "");
    CHECK(select(R"({"properties":[]})") == "0-5");
    CHECK(select(R"({"hostlist":[]})") == "");
    CHECK(select(R"({"ranks":[]})") == "");
    CHECK(Constraint().select(six_nodes()).encode() == "0-5");
}

TEST_CASE("constraint: errors", "[constraint]") {
    CHECK_THROWS_WITH(select(R"({"foo":["x"]})"), "unknown constraint operator: foo");
    CHECK_THROWS_WITH(select(R"({"and":[],"or":[]})"), "constraint must only contain 1 element");
    CHECK_THROWS_WITH(select(R"({"properties":["a|b"]})"), "invalid character '|' in property \"a|b\"");
    CHECK_THROWS_WITH(select(R"({"and":{}})"), "and operator value must be an array");
    CHECK_THROWS_WITH(select(R"({"properties":[1]})"), "non-string property specified");
    CHECK_THROWS_WITH(select(R"({"or":[{"and":[{"x":[]}]}]})"), "unknown constraint operator: x");
    CHECK_THROWS_WITH(select("[]"), "constraint must be an object");
}

TEST_CASE("constraint: validation before submission", "[constraint]") {
    auto hosts = flux::Hostlist::parse("n[0-5]");
    auto validate = [&](const char* text) { flux::validate_constraint(Json::parse(text), &hosts); };
    CHECK_NOTHROW(validate(R"({"and":[{"hostlist":["n[0-2]","n0"]},{"properties":["^a"]},{"ranks":["0"]}]})"));
    CHECK_NOTHROW(validate(R"({"hostlist":["n0,n0"]})"));
    CHECK_NOTHROW(validate("{}"));
    CHECK_THROWS_WITH(validate(R"({"hostlist":["n0,x1"]})"),
                      "host constraint contains invalid hosts: host 'x1' not found");
    CHECK_THROWS_WITH(validate(R"({"hostlist":["x[1-2]"]})"),
                      "host constraint contains invalid hosts: hosts 'x[1-2]' not found");
    CHECK_THROWS_WITH(validate(R"({"foo":[]})"), "unknown constraint operator 'foo'");
    CHECK_THROWS_WITH(validate(R"({"properties":["a&b"]})"), "invalid character in property 'a&b'");
    CHECK_NOTHROW(flux::validate_constraint(Json::parse(R"({"hostlist":["z"]})"), nullptr));
}
