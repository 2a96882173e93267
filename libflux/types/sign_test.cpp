#include <flux/base64.hpp>
#include <flux/error.hpp>
#include <flux/sign.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace std::string_literals;

TEST_CASE("sign: the recorded form, both ways", "[sign]") {
    const auto text = "dmVyc2lvbgBpMQB1c2VyaWQAaTAAbWVjaGFuaXNtAHNub25lAA==.e30=.none";
    CHECK(SignedRequest::sign("{}", 0) == text);
    auto request = SignedRequest::unwrap(text);
    CHECK(request.userid == 0);
    CHECK(request.payload == "{}");
    CHECK(SignedRequest::unwrap(SignedRequest::sign("x.y\0z"s, 1000)).payload == "x.y\0z"s);
}

TEST_CASE("sign: what is refused", "[sign]") {
    auto with = [](const std::string& header, const std::string& signature = "none") {
        return base64_encode(header) + ".e30=." + signature;
    };
    CHECK_NOTHROW(SignedRequest::unwrap(with("mechanism\0snone\0userid\0i7\0version\0i1\0"s)));
    const std::string bad[] = {
        "",
        "a",
        "a.b",
        "..none",
        "!.e30=.none",
        with("version\0i1\0userid\0i0\0mechanism\0snone\0"s, "None"),
        with("version\0i1\0userid\0i0\0mechanism\0snone"s),
        with("version\0i2\0userid\0i0\0mechanism\0snone\0"s),
        with("version\0i1\0userid\0i-1\0mechanism\0snone\0"s),
        with("version\0i1\0userid\0i99999999999\0mechanism\0snone\0"s),
        with("version\0i1\0userid\0s0\0mechanism\0snone\0"s),
        with("version\0i1\0userid\0i0\0mechanism\0smunge\0"s),
        with("version\0i1\0userid\0i0\0mechanism\0snone\0more\0i1\0"s),
        with("version\0i1\0mechanism\0snone\0"s),
        with("version\0\0userid\0i0\0mechanism\0snone\0"s),
    };
    for (const auto& text : bad) {
        INFO(text);
        CHECK_THROWS_AS(SignedRequest::unwrap(text), Error);
    }
}
