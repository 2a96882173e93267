#include <flux/io_data.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace std::string_literals;

TEST_CASE("io data: both ways", "[io]") {
    struct Case {
        std::string data;
        bool eof;
        std::string json;
    };
    const Case cases[] = {
        {"hi\n", false, R"({"stream":"stdout","rank":"0-1","data":"hi\n"})"},
        {"", true, R"({"stream":"stdout","rank":"0-1","eof":true})"},
        {"x", true, R"({"stream":"stdout","rank":"0-1","data":"x","eof":true})"},
        {"", false, R"({"stream":"stdout","rank":"0-1","data":""})"},
        {"a\0b"s, false, R"({"stream":"stdout","rank":"0-1","data":"a\u0000b"})"},
        {"\xff\xfe", false, R"({"stream":"stdout","rank":"0-1","data":"//4=","encoding":"base64"})"},
    };
    for (const auto& c : cases) {
        auto json = IoData::encode("stdout", "0-1", c.data, c.eof);
        CHECK(json.dump() == c.json);
        auto io = IoData::decode(json);
        CHECK(io.stream == "stdout");
        CHECK(io.rank == "0-1");
        CHECK(io.data == c.data);
        CHECK(io.eof == c.eof);
    }
}

TEST_CASE("io data: what is refused", "[io]") {
    for (const char* text : {"{}", R"({"stream":"a","rank":"0"})", R"({"stream":"a","rank":0,"data":"x"})",
                             R"({"stream":"a","rank":"0","data":7})", R"({"stream":"a","rank":"0","data":"x","eof":1})",
                             R"({"stream":"a","rank":"0","data":"!","encoding":"base64"})"}) {
        auto json = Json::parse(text);
        INFO(text);
        CHECK_THROWS_AS(IoData::decode(json), Error);
    }
}
