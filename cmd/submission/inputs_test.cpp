#include "cmd/submission/inputs.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::submission;

namespace {

using Words = std::vector<std::string>;

Words read_words(const std::string& name) { return name == "-" ? Words{"in"} : Words{name + "1", name + "2"}; }

std::vector<Words> combinations(const Words& words) {
    Inputs inputs(words, &read_words);
    std::vector<Words> all;
    for (std::size_t index = 0; index < inputs.size(); ++index) all.push_back(inputs.combination(index));
    return all;
}

} // namespace

TEST_CASE("combinations of inputs") {
    CHECK(combinations({"c", ":::", "a", "b", ":::", "1", "2"}) ==
          std::vector<Words>{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", "2"}});
    CHECK(combinations({"c", ":::", "a", "b", "c", ":::+", "1", "2"}) ==
          std::vector<Words>{{"a", "1"}, {"b", "2"}, {"c", "1"}});
    CHECK(combinations({"::::", "f"}) == std::vector<Words>{{"f1"}, {"f2"}});
    CHECK(combinations({"c"}) == std::vector<Words>{{"in"}});
    CHECK(Inputs(Words{":::", "a"}, &read_words).command() == Words{"{}"});
    CHECK_THROWS_WITH(combinations({"c", ":::"}), "no inputs specified");
    CHECK_THROWS_WITH(combinations({"c", ":::+", "a"}), ":::+: there is no list before it");
}

TEST_CASE("tags of inputs") {
    auto replaced = [](const char* text) { return substitute(text, input_tags({"/d/x.tar.gz", "y"}, 4)); };
    CHECK(replaced("{} {0} {1} {seq} {seq1}") == "/d/x.tar.gz /d/x.tar.gz y 4 5");
    CHECK(replaced("{0.%} {0./} {0.//} {0./%} {.%}") == "/d/x.tar x.tar.gz /d x.tar /d/x.tar");
    CHECK(replaced("{1.%} {1.//}.") == "y .");
    CHECK_THROWS_AS(replaced("{2}"), Error);
    CHECK_THROWS_AS(replaced("{0.x}"), Error);
}
