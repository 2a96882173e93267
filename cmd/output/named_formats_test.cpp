#include <catch2/catch.hpp>

#include <cmd/output/color.hpp>
#include <cmd/output/named_formats.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace flux::output;
using flux::Error;
using flux::Json;

namespace {

constexpr NamedFormat builtins[] = {{"default", "Default flux-queue list format", "{queuem:<8.8}"},
                                    {"nodes", "Nodes", "{nodes}"}};
constexpr std::string_view others[] = {"status"};
constexpr FormatSource source = {"flux-queue", "list.formats", "FLUX_TEST_FORMAT_DEFAULT", builtins, others};

} // namespace

TEST_CASE("named formats: configuration adds, later files win", "[output]") {
    NamedFormats formats(source);
    formats.merge(
        Json::parse(R"({"list":{"formats":{"mine":{"format":"{a}","description":"Site"},"b":{"format":"{b}"}}}})"),
        "site");
    formats.merge(Json::parse(R"({"status":{},"list":{"formats":{"mine":{"format":"{c}","description":"My own"}}}})"),
                  "user");
    formats.merge(Json::object(), "empty");
    CHECK(formats.choose("mine") == "{c}");
    CHECK(formats.choose("nodes") == "{nodes}");
    CHECK(formats.choose("x{y}") == "x{y}");
    CHECK_THROWS_WITH(formats.choose("other"), "--format: No such format other (Did you mean '{other}'?)");
    CHECK(formats.help() == "\nConfigured flux-queue output formats:\n\n"
                            "  default      Default flux-queue list format\n"
                            "  nodes        Nodes\n"
                            "  mine         My own\n"
                            "  b            \n");
    formats.merge(Json::parse(R"({"list":{"formats":{"q":{"format":"\"{a}\"\\","description":"d"}}}})"), "user");
    CHECK(formats.config_snippet("q") == "[list.formats.q]\ndescription = \"d\"\nformat = \"\\\"{a}\\\"\\\\\"\n");
}

TEST_CASE("named formats: the environment replaces the default", "[output]") {
    const NamedFormats formats(source);
    ::unsetenv("FLUX_TEST_FORMAT_DEFAULT");
    CHECK(formats.choose() == "{queuem:<8.8}");
    ::setenv("FLUX_TEST_FORMAT_DEFAULT", "nodes", 1);
    CHECK(formats.choose() == "{nodes}");
    ::setenv("FLUX_TEST_FORMAT_DEFAULT", "{x}", 1);
    CHECK(formats.choose("default") == "{x}");
    CHECK(formats.choose("nodes") == "{nodes}");
    ::setenv("FLUX_TEST_FORMAT_DEFAULT", "gone", 1);
    CHECK_THROWS_AS(formats.choose(), Error);
    ::unsetenv("FLUX_TEST_FORMAT_DEFAULT");
}

TEST_CASE("named formats: mistakes name the file", "[output]") {
    const auto content = GENERATE(as<std::string>(), "[]", R"({"other":{}})", R"({"list":{"formats":[]}})",
                                  R"({"list":{"formats":{"default":{"format":"{a}"}}}})",
                                  R"({"list":{"formats":{"x":{}}}})", R"({"list":{"formats":{"x":{"format":1}}}})",
                                  R"({"list":{"formats":{"x":{"format":"{a}","description":1}}}})",
                                  R"({"list":{"formats":{"x":{"format":"{a}","more":1}}}})");
    CAPTURE(content);
    NamedFormats formats(source);
    CHECK_THROWS_WITH(formats.merge(Json::parse(content), "a.json"), Catch::StartsWith("a.json: "));
}

TEST_CASE("named formats: files of the site come before those of the user", "[output]") {
    std::string root = std::filesystem::temp_directory_path() / "flux-formats-XXXXXX";
    REQUIRE(::mkdtemp(root.data()));
    for (const auto* file : {"one/flux/flux-x.toml", "two/flux/flux-x.json", "two/flux/flux-x.ini",
                             "own/flux/flux-x.yaml", "own/flux/flux-x.json", "own/flux/flux-y.json"}) {
        const auto path = std::filesystem::path(root) / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << "\n";
    }
    ::setenv("XDG_CONFIG_DIRS", (root + "/one::" + root + "/two:" + root + "/none").c_str(), 1);
    ::setenv("XDG_CONFIG_HOME", (root + "/own").c_str(), 1);
    CHECK(format_files("flux-x") ==
          std::vector<std::string>{root + "/two/flux/flux-x.json", root + "/one/flux/flux-x.toml",
                                   root + "/own/flux/flux-x.json", root + "/own/flux/flux-x.yaml"});
    ::unsetenv("XDG_CONFIG_DIRS");
    ::unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(root);
}

TEST_CASE("color: when it is wanted", "[output]") {
    CHECK(color_wanted(false, {}, true, nullptr));
    CHECK(color_wanted(false, {}, true, ""));
    CHECK(!color_wanted(false, {}, true, "1"));
    CHECK(!color_wanted(false, {}, false, nullptr));
    CHECK(color_wanted(true, {}, false, "1"));
    CHECK(color_wanted(true, "always", false, nullptr));
    CHECK(!color_wanted(true, "never", true, nullptr));
    CHECK(color_wanted(true, "auto", true, "1"));
    CHECK(!color_wanted(true, "auto", false, nullptr));
    CHECK_THROWS_AS(color_wanted(true, "maybe", true, nullptr), Error);
}
