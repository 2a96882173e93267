#include "file_blobs.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace flux;
namespace fs = std::filesystem;

TEST_CASE("file blobs: parts of files", "[content]") {
    std::string directory = fs::temp_directory_path() / "file-blobs-XXXXXX";
    REQUIRE(::mkdtemp(directory.data()));
    auto path = directory + "/file", other = directory + "/other";
    std::ofstream(path) << "aaaabbbbcc";
    std::ofstream(other) << "bbbbxx";
    Hasher hasher(HashKind::sha1);
    auto record = directory + "/record";
    FileBlobs blobs(hasher, record);
    blobs.add(path, 4, "one");
    CHECK(blobs.load(hasher("aaaa")) == "aaaa");
    CHECK(blobs.load(hasher("cc")) == "cc");
    CHECK_FALSE(blobs.load(hasher("aaaabbbbcc")));
    blobs.add(other, 4, "two");
    blobs.add(other, 0, "two");
    CHECK(blobs.load(hasher("bbbbxx")) == "bbbbxx");
    CHECK(blobs.stats().dump() ==
          R"({"tags":{"one":[")" + path + R"("],"two":[")" + other + R"(",")" + other + R"("]},"blobs":5})");

    SECTION("a blob stays as long as one file has it") {
        blobs.remove("one");
        CHECK(blobs.load(hasher("bbbb")) == "bbbb");
        CHECK_FALSE(blobs.load(hasher("aaaa")));
        blobs.remove("two");
        blobs.remove("unknown");
        CHECK(blobs.stats().dump() == R"({"tags":{},"blobs":0})");
    }
    SECTION("what has changed is not given out") {
        std::ofstream(path) << "aaaaBBBB";
        CHECK(blobs.load(hasher("aaaa")) == "aaaa");
        CHECK(blobs.load(hasher("bbbb")) == "bbbb"); // from the other file
        CHECK_THROWS_WITH(blobs.load(hasher("cc")), "mapped file content has changed");
        fs::remove(path);
        CHECK_THROWS_WITH(blobs.load(hasher("aaaa")), "mapped file content has changed");
    }
    SECTION("the next instance has the same") {
        blobs.remove("one");
        blobs.add(path, 4, "three");
        fs::remove(other);
        FileBlobs next(hasher, record);
        std::vector<std::string> errors;
        next.restore([&](const Error& error) { errors.push_back(error.what()); });
        CHECK(errors.size() == 2); // other was there twice
        CHECK(next.load(hasher("cc")) == "cc");
        CHECK_FALSE(next.load(hasher("bbbbxx")));
    }
    SECTION("holes are left out") {
        auto sparse = directory + "/sparse";
        std::ofstream(sparse) << std::string(4096, 'd');
        fs::resize_file(sparse, 1 << 20);
        blobs.add(sparse, 4096, "three");
        CHECK(blobs.load(hasher(std::string(4096, 'd'))));
        CHECK(blobs.stats().get<int>("blobs") <= 7);
    }
    SECTION("what is no file is refused") {
        CHECK_THROWS_WITH(blobs.add("file", 4, "x"), "path must be fully qualified");
        CHECK_THROWS_WITH(blobs.add(directory, 4, "x"), directory + ": not suitable for mapping");
        CHECK_THROWS_WITH(blobs.add(directory + "/none", 4, "x"), directory + "/none: No such file or directory");
        std::ofstream(directory + "/empty");
        CHECK_THROWS_WITH(blobs.add(directory + "/empty", 4, "x"), Catch::Contains("not suitable"));
    }
    fs::remove_all(directory);
}
