#include <flux/json.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Error;
using flux::Json;
using flux::JsonView;

TEST_CASE("json: literals keep their order and dump compactly", "[json]") {
    auto value =
        Json::object("id", 7, "name", "x", "ratio", 0.5, "on", true, "none", nullptr, "list", Json::array_of(1, "two"));
    CHECK(value.dump() == R"({"id":7,"name":"x","ratio":0.5,"on":true,"none":null,"list":[1,"two"]})");
    CHECK(Json::object("b", 1, "a", 2).dump_sorted() == R"({"a":2,"b":1})");
}

TEST_CASE("json: typed access names what is wrong", "[json]") {
    auto value = Json::parse(R"({"n":300,"s":"text","l":[1,2],"z":null})");
    CHECK(value.get<int>("n") == 300);
    CHECK(value.get<std::vector<int>>("l") == std::vector<int>{1, 2});
    CHECK(value.get_or("absent", 4) == 4);
    CHECK(!value.get_optional<int>("z"));
    CHECK_THROWS_WITH(value.get<int>("s"), Catch::Contains("'s'") && Catch::Contains("got string"));
    CHECK_THROWS_WITH(value.get<int>("absent"), "required key 'absent' is missing");
    CHECK_THROWS_AS(value.get<std::uint8_t>("n"), Error);
    CHECK_THROWS_AS(value.get_or("s", 1), Error);
    CHECK(!value["n"]["deeper"]);
    CHECK(!JsonView()["nothing"]);
}

TEST_CASE("json: paths and updates", "[json]") {
    auto value = Json::object();
    value.set_path("a.b.c", 1);
    value.object_at("a").array_at("list").append("x");
    CHECK(value.dump() == R"({"a":{"b":{"c":1},"list":["x"]}})");
    CHECK(value.find("a.b.c").as<int>() == 1);
    CHECK(!value.find("a.x.c"));
    CHECK(value["a"].erase("b"));
    CHECK_THROWS_AS(value["a"]["list"].set("k", 1), Error);
    auto copy = value.copy();
    value.clear();
    CHECK(copy.find("a.list").size() == 1);
    std::string keys;
    auto pair = Json::object("k", 1, "l", 2);
    for (auto [key, member] : pair.members()) keys += key;
    CHECK(keys == "kl");
}

TEST_CASE("json: bad text is refused with its place", "[json]") {
    CHECK_THROWS_WITH(Json::parse("{\"a\":", "request"), Catch::StartsWith("request: line 1"));
    CHECK_THROWS_AS(Json(std::string_view("\xff")), Error);
    CHECK(Json::parse("7").as<int>() == 7);
    CHECK(Json::parse("\"a\\u0000b\"").as<std::string>().size() == 3);
}

TEST_CASE("json: text stays what it is", "[json]") {
    for (const char* text : {R"({"a":[1,0,2.5,-8,true,false,null],"b":{"c":"x\u0000y\n\b\f\r\t\"\\"},"":""})", "[]",
                             "{}", "\"\\u001F/\x7f\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 and more\"",
                             "-9223372036854775808", "[[[[1.0]]]]"}) {
        INFO(text);
        CHECK(Json::parse(text).dump() == text);
    }
    CHECK(Json::parse(R"( { "k" : 1 , "k":[ ] , "a":"\u00e9\ud83d\ude00\/" } )").dump_sorted() ==
          "{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80/\",\"k\":[]}");
    for (const char* text :
         {"", "01", "-", "1.", "1e", "[1,]", "{\"a\\u0000\":1}", "\"\\ud800\"", "\"\\ude00\"", "nul", "1 2", "\"\x01\"",
          "\"\xff\"", "\"\xc3\"", "\"open", "\"\\x\"", "123456789012345678901", "1e400", "{1:2}"}) {
        INFO(text);
        CHECK_THROWS_AS(Json::parse(text), Error);
    }
    CHECK_THROWS_AS(Json::parse(std::string(5000, '[') + std::string(5000, ']')), Error);
}

TEST_CASE("json: real numbers are short and read back as the same value", "[json]") {
    const std::pair<double, const char*> cases[] = {{0.05, "0.05"},
                                                    {0, "0.0"},
                                                    {-0.0, "-0.0"},
                                                    {1, "1.0"},
                                                    {-2.5, "-2.5"},
                                                    {100000, "100000.0"},
                                                    {1795996471.6761408, "1795996471.6761408"},
                                                    {9007199254740992.0, "9007199254740992.0"},
                                                    {1e16, "1e+16"},
                                                    {1e-4, "0.0001"},
                                                    {-1.2345678901234567e-4, "-0.00012345678901234567"},
                                                    {1.5e-7, "1.5e-07"},
                                                    {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                    {5e-324, "5e-324"}};
    for (auto [value, text] : cases) {
        CHECK(Json(value).dump() == text);
        auto parsed = Json::parse(text);
        CHECK(parsed.is_real());
        CHECK(parsed.as<double>() == value);
    }
}

TEST_CASE("json: indented text", "[json]") {
    auto value = Json::parse(R"({"a":[],"b":{},"c":[1,{"d,[\"\\":null}]})");
    CHECK(value.dump_indented(1) ==
          "{\n \"a\": [],\n \"b\": {},\n \"c\": [\n  1,\n  {\n   \"d,[\\\"\\\\\": null\n  }\n ]\n}");
    CHECK(JsonView().dump_indented(2) == "null");
    CHECK(Json("x").dump_indented(2) == "\"x\"");
}
