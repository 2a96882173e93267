#include <flux/hash.hpp>

#include <catch2/catch.hpp>

using flux::Hasher;
using flux::HashKind;

TEST_CASE("hash: blobs", "[hash]") {
    struct Row {
        std::string bytes;
        const char *sha1, *sha256;
    };
    auto row = GENERATE(values<Row>({
        {"", "sha1-da39a3ee5e6b4b0d3255bfef95601890afd80709",
         "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"one", "sha1-fe05bcdcdc4928012781a5f1a2a77cbb5398e106",
         "sha256-7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"},
        {std::string(55, 'x'), "sha1-cef734ba81a024479e09eb5a75b6ddae62e6abf1",
         "sha256-d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {std::string(300, 'z'), "sha1-f385097158dd699727dc7b014e8070f880f96f64",
         "sha256-7cf7dc7f99e7185a1536245f8e30ced7e1b1c85ad441552176678083a67411bd"},
        {R"({"data":{},"type":"dir","ver":1})", "sha1-c0a9faf907dda6216fd73bf81d0b3b21a1a8cb91",
         "sha256-61b85efa2a76db9377692c700b4e1edfc480bf224e0e9764b76f8082159d0ca0"},
    }));
    Hasher sha1(HashKind::sha1), sha256(HashKind::sha256);
    for (int again = 0; again < 2; ++again) {
        CHECK(sha1(row.bytes).to_string() == row.sha1);
        CHECK(sha256(row.bytes).to_string() == row.sha256);
    }
}
