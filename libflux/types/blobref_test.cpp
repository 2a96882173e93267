#include <flux/blobref.hpp>

#include <catch2/catch.hpp>

#include <unordered_set>

using flux::Blobref;
using flux::Error;
using flux::HashKind;

namespace {
const std::string sha1_one = "sha1-fe05bcdcdc4928012781a5f1a2a77cbb5398e106";
const std::string sha256_one = "sha256-7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
const std::string sha1_upper = "sha1-FE05bcdcdc4928012781a5f1a2a77cbb5398e106";
} // namespace

TEST_CASE("blobref: parse and format", "[blobref]") {
    auto one = Blobref::parse(sha1_one);
    CHECK(one.kind() == HashKind::sha1);
    CHECK(one.digest().size() == 20);
    CHECK(one.digest().substr(0, 3) == "\xfe\x05\xbc");
    CHECK(one.to_string() == sha1_one);
    CHECK(Blobref(HashKind::sha1, one.digest()) == one);
    auto other = Blobref::parse(sha256_one);
    CHECK(other.digest().size() == 32);
    CHECK(other.to_string() == sha256_one);
    CHECK(Blobref::parse(sha1_upper) == one);
    CHECK(Blobref::is_valid(sha1_one));
    CHECK(!Blobref::is_valid(sha1_upper));
    CHECK(std::unordered_set<Blobref>{one, other, one}.size() == 2);
    CHECK(flux::Json::object("ref", one).get<Blobref>("ref") == one);
}

TEST_CASE("blobref: what does not parse", "[blobref]") {
    auto text = GENERATE(as<std::string>{}, "", "sha1", "sha1-", "-", "md5-fe05bcdcdc4928012781a5f1a2a77cbb",
                         sha1_one.substr(0, 44), sha1_one + "0", "sha256" + sha1_one.substr(4),
                         "SHA1" + sha1_one.substr(4), sha1_one.substr(0, 44) + "g", " " + sha1_one);
    INFO(text);
    CHECK(!Blobref::try_parse(text));
    CHECK(!Blobref::is_valid(text));
    CHECK_THROWS_WITH(Blobref::parse(text), "invalid blobref '" + text + "'");
}

TEST_CASE("blobref: hash kinds", "[blobref]") {
    CHECK(flux::parse_hash_kind("sha256") == HashKind::sha256);
    CHECK_THROWS_WITH(flux::parse_hash_kind("md5"), "unknown hash 'md5'");
    CHECK_THROWS_AS(Blobref(HashKind::sha1, "short"), Error);
}
