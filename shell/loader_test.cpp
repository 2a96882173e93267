#include "loader.hpp"

#include <flux/paths.hpp>

#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace flux;
using namespace flux::shell;

TEST_CASE("loader: files that are no plugins", "[shell]") {
    char path[] = "/tmp/flux-loader-XXXXXX";
    int fd = ::mkstemp(path);
    REQUIRE(fd >= 0);
    CHECK_THROWS_WITH(load_plugin(path), Catch::Contains("not a plugin"));
    const std::string bytes = std::string("\177ELF\2\1\1") + std::string(200, '\xff');
    REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    CHECK_THROWS_WITH(load_plugin(path), Catch::Contains("not a plugin"));
    ::close(fd);
    ::unlink(path);
    CHECK_THROWS_AS(load_plugin(path), Error);
    CHECK_THROWS_WITH(load_plugin(paths::libdir() + "/libflux.so"), Catch::Contains("built for another flux"));
}

TEST_CASE("loader: plugins are found by plain names only", "[shell]") {
    CHECK_FALSE(find_plugin("/nowhere::/tmp", "x"));
    CHECK_FALSE(find_plugin("/tmp", "../lib/x"));
    CHECK_FALSE(find_plugin("/tmp", ""));
}
