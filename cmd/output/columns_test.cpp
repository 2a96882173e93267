#include <catch2/catch.hpp>

#include <cmd/output/columns.hpp>

using namespace flux::output;

TEST_CASE("columns: text is measured as a terminal shows it", "[output]") {
    CHECK(columns("") == 0);
    CHECK(columns("abc") == 3);
    CHECK(columns("ƒ2aV2gb9") == 8);
    CHECK(columns("✔") == 1);
    CHECK(columns("🏃") == 2);
    CHECK(columns("日本") == 4);
    CHECK(columns("e\u0301") == 1);
    CHECK(columns("a\xff\xc3(") == 4);
    CHECK(columns("a\xe2\x9c") == 3);
}

TEST_CASE("columns: cutting and padding", "[output]") {
    CHECK(cut("ƒabc", 2) == "ƒa");
    CHECK(cut("日本", 3) == "日");
    CHECK(cut("e\u0301x", 1) == "e\u0301");
    CHECK(cut("abc", 9) == "abc");
    CHECK(pad("ƒ", 3, '>') == "  ƒ");
    CHECK(pad("ab", 5, '^', "·") == "·ab··");
    CHECK(pad("abc", 2, '<') == "abc");
    CHECK(cut_marked("abcdef", 4) == "abc+");
    CHECK(cut_marked("abcd", 4) == "abcd");
    CHECK(cut_marked("abcd", 0) == "abcd");
    CHECK(cut_marked("日本語", 4) == "日 +");
}

TEST_CASE("columns: UTF-8", "[output]") {
    for (const std::string text : {"a", "ƒ", "✔", "🏃"}) {
        std::string_view rest = text;
        CHECK(encode_utf8(take_code_point(rest)) == text);
        CHECK(rest.empty());
    }
}
