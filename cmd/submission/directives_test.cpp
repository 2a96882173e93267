#include "cmd/submission/directives.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::submission;

namespace {

std::string read(const char* script) {
    std::string text;
    for (const auto& directive : read_directives(script)) {
        text += std::to_string(directive.line);
        for (const auto& word : directive.words) text += "[" + word + "]";
        text += " ";
    }
    return text;
}

} // namespace

TEST_CASE("directives of a script") {
    CHECK(read("#!/bin/sh\n# flux: -n4\n# flux:\n\n# flux: --job-name='a b' # why\necho flux\n") ==
          "2[-n4] 5[--job-name=a b] ");
    CHECK(read("#!/bin/sh\n\n# a comment\n#FLUX: -o \"a\\\"b\" x\\ y\n") == "4[-o][a\"b][x y] ");
    CHECK(read("no directives\n").empty());
}

TEST_CASE("text over several lines") {
    CHECK(read("# flux: --setattr=x='''\n# flux:   one\n# flux:     two\n# flux: '''\n") ==
          "1[--setattr=x=one\n  two\n] ");
    CHECK(read("# flux: -S x=\"\"\"in line\"\"\"\n") == "1[-S][x=in line] ");
}

TEST_CASE("directives that are wrong") {
    CHECK_THROWS_WITH(read("# flux: -n1\necho\n# flux: -n2\n"),
                      "line 3: orphan 'flux:' detected: directives disabled after line 2");
    CHECK_THROWS_WITH(read("# flux: word\n"), "line 1: Unknown directive: word");
    CHECK_THROWS_WITH(read("# flux: 'x\n"), "line 1: No closing quotation");
    CHECK_THROWS_WITH(read("# flux: '''x\n"), "line 1: Unterminated triple quotes");
    CHECK_THROWS_AS(read("# flux: -n1\n#flux: -n2\n"), Error);
    CHECK_THROWS_AS(read("# flux: -n1\n# FLUX: -n2\n"), Error);
}
