#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <pmi/wire.hpp>

using namespace flux::pmi;

TEST_CASE("pmi wire: words end at a blank, values take the rest", "[pmi]") {
    const Line put("cmd=put kvsname=bar key=foo value=the big = brown key=x");
    CHECK(put.get("cmd") == "put");
    CHECK(put.get("key") == "foo");
    CHECK(put.get("value") == "the big = brown key=x");
    CHECK(!put.find("brown"));

    const Line refusal("cmd=publish_result rc=-1 msg=command not implemented");
    CHECK(refusal.get_int("rc") == -1);
    CHECK(refusal.get("msg") == "command not implemented");

    const Line loose("  noise cmd=x  a= b=2=3 a=4 endcmd");
    CHECK(loose.get("cmd") == "x");
    CHECK(loose.get("a") == "");
    CHECK(loose.get("b") == "2=3");
    CHECK(!loose.find("noise"));
    CHECK(!loose.find("endcmd"));
    CHECK(!Line("").find("cmd"));
}

TEST_CASE("pmi wire: what is missing or no number is named", "[pmi]") {
    const Line line("cmd=init pmi_version=x1 pmi_subversion=1x big=99999999999 negative=-7");
    CHECK(line.get_int("negative") == -7);
    CHECK_THROWS_WITH(line.get("rank"), Catch::Contains("no rank= in 'cmd=init"));
    for (const auto* key : {"pmi_version", "pmi_subversion", "big"}) {
        CHECK(!line.find_int(key));
        CHECK_THROWS_AS(line.get_int(key), flux::Error);
    }
}

TEST_CASE("pmi wire: a stream is cut into bounded lines", "[pmi]") {
    LineBuffer buffer(8);
    CHECK(!buffer.next());
    buffer.append("one\ntw");
    CHECK(buffer.next() == "one");
    CHECK(!buffer.next());
    buffer.append("o\n\n12345678\n");
    CHECK(buffer.next() == "two");
    CHECK(buffer.next() == "");
    CHECK(buffer.next() == "12345678");
    CHECK(!buffer.next());

    buffer.append("123456789");
    CHECK_THROWS_AS(buffer.next(), flux::Error);
    LineBuffer terminated(8);
    terminated.append("123456789\n");
    CHECK_THROWS_AS(terminated.next(), flux::Error);
}

TEST_CASE("pmi wire: code names", "[pmi]") {
    CHECK(std::string(code_name(success)) == "SUCCESS");
    CHECK(std::string(code_name(fail)) == "FAIL");
    CHECK(std::string(code_name(invalid_length)) == "INVALID_LENGTH");
    CHECK(std::string(code_name(14)) == "OTHER");
    CHECK(std::string(code_name(15)) == "unknown");
    CHECK(std::string(code_name(-2)) == "unknown");
}
