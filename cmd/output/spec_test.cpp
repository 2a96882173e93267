#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cmd/output/spec.hpp>
#include <limits>

using namespace flux::output;

namespace {

std::string print(const char* spec, const Value& value) { return format_value(parse_spec(spec), value); }

} // namespace

TEST_CASE("format spec: what Python's str.format prints", "[output]") {
    const auto [value, spec, expected] = GENERATE(table<Value, const char*, std::string>({
        {"abc", "", "abc"},
        {"abc", "6", "abc   "},
        {"abc", ">6", "   abc"},
        {"abc", "*^6", "*abc**"},
        {"abc", "ƒ>5", "ƒƒabc"},
        {"abc", "05", "abc00"},
        {"abcdef", "<4.2s", "ab  "},
        {"ƒ2aV2gb9", ">12", "    ƒ2aV2gb9"},
        {7, "", "7"},
        {7, "4", "   7"},
        {7, "<4", "7   "},
        {-7, "=5d", "-   7"},
        {-7, "05", "-0007"},
        {7, "+", "7"}, // the suffix, not the sign
        {7, "+d", "+7"},
        {1234567, ",", "1,234,567"},
        {1234, "08,", "0,001,234"},
        {1000000000000, "_x", "e8_d4a5_1000"},
        {255, "#x", "0xff"},
        {255, "#X", "0XFF"},
        {5, "#010b", "0b00000101"},
        {std::numeric_limits<std::int64_t>::min(), "d", "-9223372036854775808"},
        {65, "c", "A"},
        {7, ".2f", "7.00"},
        {0.5, "%", "50.000000%"},
        {2.0, "", "2.0"},
        {1e16, "", "1e+16"},
        {1e-5, "", "1e-05"},
        {123456.789, ".4", "1.235e+05"},
        {12.0, ".3", "12.0"},
        {2.807, ">8.1f", "     2.8"},
        {-0.0, "z.1f", "0.0"},
        {std::numeric_limits<double>::infinity(), ">5", "  inf"},
        {1234.5, "012,.2f", "0,001,234.50"},
        {true, "", "True"},
        {false, ">3", "  0"},
        {Spelled{42, "ƒk"}, "", "ƒk"},
        {Spelled{42, "ƒk"}, ">4", "  42"},
    }));
    CAPTURE(spec);
    CHECK(print(spec, value) == expected);
}

TEST_CASE("format spec: suffixes", "[output]") {
    CHECK(print(">6h", "") == "     -");
    CHECK(print("8h", "0s") == "-       ");
    CHECK(print(".2fh", 0.0) == "-");
    CHECK(print(">6h", 0) == "     0");
    CHECK(print("h", true) == "True");
    CHECK(print("10.10+", "longjobname") == "longjobna+");
    CHECK(print("10.10+", "longjobnam") == "longjobnam");
    CHECK(print("6.4+", "abcdefgh") == "abcd +");
    CHECK(print("3.3h+", "abcd") == "ab+");
    CHECK(print("4.4+", "日本語") == "日 +");
}

TEST_CASE("format spec: absent values ignore the type", "[output]") {
    CHECK(print(">5d", Absent{}) == "     ");
    CHECK(print("=5.1f", Absent{}) == "     ");
    CHECK(print(">5dh", Absent{}) == "    -");
}

TEST_CASE("format spec: what does not fit is refused", "[output]") {
    const auto [value, spec] = GENERATE(table<Value, const char*>({
        {"abc", "d"},
        {"abc", "=5"},
        {"abc", ","},
        {"abc", "+5s"},
        {7, "s"},
        {7, ".2"},
        {7, "zd"},
        {7, ",x"},
        {-1, "c"},
        {7.5, "d"},
        {true, "s"},
        {"abc", "5q"},
        {"abc", "."},
        {"abc", "99999999999999999999"},
        {"abc", "<<<"},
    }));
    CAPTURE(spec);
    CHECK_THROWS_AS(print(spec, value), flux::Error);
    CHECK_THROWS_WITH(print("d", "abc"), "Unknown format code 'd' for object of type 'str'");
}
