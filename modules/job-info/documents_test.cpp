#include "documents.hpp"
#include "line_buffer.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_info;

TEST_CASE("job-info: lines of pieces", "[job-info]") {
    LineBuffer lines;
    CHECK_FALSE(lines.next());
    lines.feed("a\nb");
    CHECK(lines.next() == "a\n");
    CHECK_FALSE(lines.next());
    lines.feed("c\n\nd");
    CHECK(lines.next() == "bc\n");
    CHECK(lines.next() == "\n");
    CHECK_FALSE(lines.next());
    lines.feed("\n");
    CHECK(lines.next() == "d\n");
    std::string mebibyte(1 << 20, 'x');
    auto endless = [&] {
        for (int i = 0; i < 32; ++i) lines.feed(mebibyte);
    };
    CHECK_THROWS_AS(endless(), Error);
}

TEST_CASE("job-info: updates of documents", "[job-info]") {
    auto jobspec = Json::parse(R"({"attributes":{"system":{"duration":60}}})");
    EventlogEntry update("jobspec-update", Json::object("attributes.system.duration", 10, "attributes.user.x", "y"));
    CHECK(is_update("jobspec", update));
    CHECK_FALSE(is_update("R", update));
    apply_update("jobspec", jobspec, update);
    CHECK(jobspec.dump() == R"({"attributes":{"system":{"duration":10},"user":{"x":"y"}}})");
    auto R = Json::parse(R"({"version":1,"execution":{"expiration":0.0}})");
    EventlogEntry longer("resource-update", Json::object("expiration", 100));
    CHECK(is_update("R", longer));
    apply_update("R", R, longer);
    CHECK(R.dump() == R"({"version":1,"execution":{"expiration":100.0}})");
}

TEST_CASE("job-info: owner of a job", "[job-info]") {
    CHECK(owner_of("{\"timestamp\":1.0,\"name\":\"submit\",\"context\":{\"userid\":7}}\n{\"bad\n") == 7);
    CHECK_THROWS_AS(owner_of("{\"timestamp\":1.0,\"name\":\"start\"}\n"), Error);
    CHECK_THROWS_AS(owner_of(""), Error);
}
