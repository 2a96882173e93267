#include "libflux/file_archive/extract.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

using namespace flux;
using namespace flux::file_archive;

namespace {

class Directory {
public:
    Directory() {
        char name[] = "/tmp/flux-files-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string path;
    std::string read(const std::string& name) const {
        std::ifstream file(path + '/' + name);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
    void extract(const char* archive) const {
        auto json = Json::parse(archive);
        for (const auto& [name, file] : archived_files(json)) {
            ExtractedFile out(path, name, file);
            for (const auto& piece : pieces_of(file)) out.write(piece, std::string(piece.size, 'b'));
            out.finish();
        }
    }
};

} // namespace

TEST_CASE("files: every kind and encoding", "[files]") {
    Directory directory;
    directory.extract(R"({"script":{"mode":33216,"data":"#!/bin/sh\n","encoding":"utf-8","size":10,"mtime":5},
                          "a/b/bin":{"mode":33152,"data":"AAE=","encoding":"base64","size":2},
                          "conf.json":{"mode":33152,"data":{"x":[1]}},
                          "empty":{"mode":33152,"size":0},
                          "dir":{"mode":16877},
                          "link":{"mode":41471,"data":"a/b"}})");
    CHECK(directory.read("script") == "#!/bin/sh\n");
    struct stat status;
    REQUIRE(::stat((directory.path + "/script").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
    CHECK(status.st_mtime == 5);
    CHECK(directory.read("a/b/bin") == std::string("\0\1", 2));
    CHECK(directory.read("conf.json") == R"({"x":[1]})");
    CHECK(std::filesystem::file_size(directory.path + "/empty") == 0);
    CHECK(std::filesystem::is_directory(directory.path + "/dir"));
    CHECK(std::filesystem::read_symlink(directory.path + "/link") == "a/b");
    directory.extract(
        R"([{"path":"sparse","mode":33152,"size":6,"encoding":"blobvec",
             "data":[[2,3,"sha1-0000000000000000000000000000000000000000"]]}])");
    CHECK(directory.read("sparse") == std::string("\0\0bbb\0", 6));
}

TEST_CASE("files: what is refused", "[files]") {
    Directory directory;
    for (const char* archive :
         {"7", R"({"/abs":{"mode":33152}})", R"({"../up":{"mode":33152}})", R"({"a/../../up":{"mode":33152}})",
          R"({"a//b":{"mode":33152}})", R"({"":{"mode":33152}})", R"({"x":{}})", R"({"x":{"mode":4096}})",
          R"({"x":{"mode":33152,"encoding":"rot13","data":"x"}})",
          R"({"x":{"mode":33152,"encoding":"blobvec","data":[[1]]}})", R"([{"mode":33152}])"}) {
        INFO(archive);
        CHECK_THROWS_AS(directory.extract(archive), Error);
    }
    // A link made before does not lead out either.
    CHECK_THROWS_AS(directory.extract(R"({"l":{"mode":41471,"data":"/tmp"},"l/x":{"mode":33152}})"), Error);
}
