#include "cmd/archive/scan.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace flux;
using namespace flux::archive;

namespace {

class Directory {
public:
    Directory() {
        char name[] = "/tmp/flux-scan-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path + '/' + name) << bytes;
        return path + '/' + name;
    }
    std::string path;
};

} // namespace

TEST_CASE("scan: objects of files") {
    Directory directory;
    ScannedFile text(directory.write("text", "hello"), 0, 100);
    CHECK(text.object["encoding"].as<std::string>() == "utf-8");
    CHECK(text.object["data"].as<std::string>() == "hello");
    CHECK(text.object["size"].as<int>() == 5);
    CHECK(text.regions.empty());
    ScannedFile binary(directory.write("binary", std::string("\xff\0", 2)), 0, 100);
    CHECK(binary.object["encoding"].as<std::string>() == "base64");
    CHECK(binary.object["data"].as<std::string>() == "/wA=");
    ScannedFile empty(directory.write("empty", ""), 0, 0);
    CHECK(empty.object["size"].as<int>() == 0);
    CHECK(!empty.object.contains("data"));
    ScannedFile large(directory.write("large", std::string(250, 'x')), 100, 10);
    CHECK(large.object["encoding"].as<std::string>() == "blobvec");
    REQUIRE(large.regions.size() == 3);
    CHECK(large.regions[2].offset == 200);
    CHECK(large.read(large.regions[2]) == std::string(50, 'x'));
    ScannedFile folder(directory.path, 0, 0);
    CHECK(!folder.object.contains("size"));
    CHECK_THROWS_AS(ScannedFile("/dev/null", 0, 0), Error);
    CHECK_THROWS_AS(ScannedFile(directory.path + "/none", 0, 0), Error);
}

TEST_CASE("scan: a file with a hole") {
    Directory directory;
    auto path = directory.write("sparse", "begin");
    REQUIRE(::truncate(path.c_str(), 1 << 20) == 0);
    ScannedFile sparse(path, 0, 10);
    std::uint64_t data = 0;
    for (const auto& region : sparse.regions) data += region.size;
    CHECK(data < 1 << 20);
    CHECK(sparse.object["size"].as<int>() == 1 << 20);
    std::filesystem::resize_file(path, 0);
    std::filesystem::resize_file(path, 1 << 20);
    ScannedFile hole(path, 0, 10);
    CHECK(hole.regions.empty());
    CHECK(!hole.object.contains("encoding"));
}

TEST_CASE("scan: names in an archive") {
    CHECK(archived_name("//a/./b/") == "a/b");
    CHECK(archived_name("/") == ".");
    CHECK(archived_name(".") == ".");
    CHECK_THROWS_AS(archived_name("a/../b"), Error);
}
