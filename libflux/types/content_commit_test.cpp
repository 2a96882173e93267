#include <flux/content_commit.hpp>

#include <catch2/catch.hpp>

using namespace flux;

namespace {
const std::string digest_a(20, 'a'), digest_b(20, 'b'), digest_c(20, 'c');
}

TEST_CASE("content commit: round trip", "[types]") {
    ContentCommitWriter writer;
    CHECK(writer.empty());
    writer.add(digest_a, "hello");
    writer.add(digest_b, {});
    auto payload = writer.finish(Json::object("hash", "sha1", "checkpoint", Json::object("version", 1)));
    ContentCommit commit(payload.bytes(), HashKind::sha1);
    REQUIRE(commit.blobs().size() == 2);
    CHECK(commit.blobs()[0].digest == digest_a);
    CHECK(commit.blobs()[0].bytes == "hello");
    CHECK(commit.blobs()[1].digest == digest_b);
    CHECK(commit.blobs()[1].bytes.empty());
    CHECK(commit.tail()["checkpoint"].get<int>("version") == 1);

    SECTION("with blobs before it") {
        writer.add(digest_c, std::string_view("\0\1", 2));
        auto longer = writer.finish(commit);
        ContentCommit both(longer.bytes(), HashKind::sha1);
        REQUIRE(both.blobs().size() == 3);
        CHECK(both.blobs()[0].digest == digest_c);
        CHECK(both.blobs()[2].digest == digest_b);
        CHECK(both.tail()["checkpoint"].get<int>("version") == 1);
        CHECK(writer.empty());
    }
    SECTION("cut anywhere it is refused") {
        auto bytes = payload.bytes();
        for (std::size_t size = 0; size < bytes.size() - 1; ++size) {
            std::string cut(bytes.substr(0, size));
            CHECK_THROWS_AS(ContentCommit(cut, HashKind::sha1).tail(), Error);
        }
    }
}

TEST_CASE("content commit: foreign bytes", "[types]") {
    CHECK_THROWS_WITH(ContentCommit("\xff\xff\xff\xff", HashKind::sha1), "content commit is cut short");
    CHECK_THROWS_WITH(ContentCommit(std::string(4, '\0'), HashKind::sha1), "content commit has no tail");
    CHECK_THROWS_AS(ContentCommit(std::string(4, '\0') + "[]" + '\0', HashKind::sha1).tail(), Error);
    auto other = ContentCommitWriter().finish(Json::object("hash", "sha256"));
    CHECK_THROWS_WITH(ContentCommit(other.bytes(), HashKind::sha1).tail(), Catch::Contains("sha256"));
    CHECK(ContentCommit(other.bytes(), HashKind::sha256).blobs().empty());
}
