#include <flux/idset.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <random>
#include <set>

using flux::Error;
using flux::Idset;
using flux::Json;

TEST_CASE("idset: parse and encode", "[idset]") {
    struct Row {
        const char* input;
        const char* canonical;
        std::size_t count;
    };
    auto row = GENERATE(values<Row>({
        {"", "", 0},
        {"[]", "", 0},
        {"0", "0", 1},
        {"[7]", "7", 1},
        {"1,2,3,5,6,42", "1-3,5-6,42", 6},
        {"[1-3,5-6,42]", "1-3,5-6,42", 6},
        {"0-3,4-7", "0-7", 8},
        {"1-2,3,5", "1-3,5", 4},
        {"1,", "1", 1},
        {"1,,2", "1-2", 2},
        {",1", "1", 1},
        {",", "", 0},
        {"0,2,4", "0,2,4", 3},
        {"10-20,30", "10-20,30", 12},
        {"[0-3,8]", "0-3,8", 5},
        {"0-1000", "0-1000", 1001},
        {"2147483647", "2147483647", 1},
        {"0-2147483647", "0-2147483647", 2147483648},
    }));
    INFO(row.input);
    auto set = Idset::parse(row.input);
    CHECK(set.encode() == row.canonical);
    CHECK(set.count() == row.count);
    CHECK(Idset::parse(set.encode_with_brackets()) == set);
}

TEST_CASE("idset: what does not parse", "[idset]") {
    std::string input =
        GENERATE("00", "3,1", "1,1", "1-1", "0-0", "2-1", "1-3,3-5", "1-3,2", "[1,2", "1]", "[[1]]", "1-", "1, 2",
                 "[1],2", "2147483648", "4294967296", "99999999999999999999999", "0-2147483648", "01", "-1", "a", " 1",
                 "1 ,2", "+1", "0x10", "1-3-5", "1.5", "1;2", "[]]", "[", "]", "1-02");
    INFO(input);
    CHECK(!Idset::try_parse(input));
    try {
        Idset::parse(input);
    } catch (const Error& error) {
        CHECK(error.errnum() == EINVAL);
    }
}

TEST_CASE("idset: error texts", "[idset]") {
    CHECK_THROWS_WITH(Idset::parse("0,x"), "error parsing range 'x'");
    CHECK_THROWS_WITH(Idset::parse("3,1"), "range '1' is out of order");
    CHECK_THROWS_WITH(Idset::parse("2-1"), "range '2-1' is out of order");
    CHECK_THROWS_WITH(Idset::parse("[1"), "mismatched or nested brackets");
    CHECK_THROWS_WITH(Idset::parse("2147483648"), "set universe size would exceed maximum");
}

TEST_CASE("idset: forms", "[idset]") {
    CHECK(Idset{1, 2, 3, 5}.encode_with_brackets() == "[1-3,5]");
    CHECK(Idset{7}.encode_with_brackets() == "7");
    CHECK(Idset{}.encode_with_brackets().empty());
    CHECK(Idset{5, 3, 4, 1}.encode_as_list() == "1,3,4,5");
    CHECK(Idset::below(0).empty());
    CHECK(Idset::below(4).encode() == "0-3");
}

TEST_CASE("idset: set algebra", "[idset]") {
    auto a = Idset::parse("0-5"), b = Idset::parse("3-8,10");
    CHECK((a | b).encode() == "0-8,10");
    CHECK((a - b).encode() == "0-2");
    CHECK((b - a).encode() == "6-8,10");
    CHECK((a & b).encode() == "3-5");
    CHECK(a.intersects(b));
    CHECK(!a.includes(b));
    CHECK((a | b).includes(b));
    CHECK(!(a - b).intersects(b));
    a -= a;
    CHECK(a.empty());
}

TEST_CASE("idset: members", "[idset]") {
    auto set = Idset::parse("2-4,8");
    CHECK(set.first() == 2);
    CHECK(set.last() == 8);
    CHECK(set.next(1) == 2);
    CHECK(set.next(2) == 3);
    CHECK(set.next(4) == 8);
    CHECK(!set.next(8));
    CHECK(!set.next(UINT32_MAX));
    CHECK(set.prev(8) == 4);
    CHECK(set.prev(100) == 8);
    CHECK(!set.prev(2));
    CHECK(set.nth(3) == 8);
    CHECK(!set.nth(4));
    CHECK(set.position(8) == 3);
    CHECK(!set.position(5));
    CHECK(set.lowest(2).encode() == "2-3");
    CHECK(set.lowest(9) == set);
    CHECK(!Idset().first());
    CHECK(std::vector<Idset::Id>(set.begin(), set.end()) == std::vector<Idset::Id>{2, 3, 4, 8});
    CHECK_THROWS_AS(set.set(Idset::max_id + 1), Error);
    CHECK_THROWS_AS(set.set(3, 2), Error);
}

TEST_CASE("idset: behaves as a set of integers", "[idset]") {
    std::mt19937 random(7);
    constexpr Idset::Id universe = 60;
    using Model = std::set<Idset::Id>;
    auto matches = [](const Idset& set, const Model& model) {
        return std::equal(set.begin(), set.end(), model.begin(), model.end()) && Idset::parse(set.encode()) == set;
    };
    auto made = [&](Model& model) {
        Idset set;
        for (int step = 0; step < 40; ++step) {
            auto first = random() % universe;
            auto last = std::min<Idset::Id>(universe - 1, first + random() % 6);
            bool add = random() % 3 != 0;
            if (add)
                set.set(first, last);
            else
                set.clear(first, last);
            for (auto id = first; id <= last; ++id) {
                if (add)
                    model.insert(id);
                else
                    model.erase(id);
            }
            if (!matches(set, model)) return Idset();
        }
        return set;
    };
    for (int round = 0; round < 200; ++round) {
        Model model_a, model_b, model_or, model_and, model_minus;
        auto a = made(model_a), b = made(model_b);
        REQUIRE(matches(a, model_a));
        REQUIRE(matches(b, model_b));
        for (Idset::Id id = 0; id < universe; ++id) {
            bool in_a = model_a.contains(id), in_b = model_b.contains(id);
            REQUIRE(a.test(id) == in_a);
            if (in_a || in_b) model_or.insert(id);
            if (in_a && in_b) model_and.insert(id);
            if (in_a && !in_b) model_minus.insert(id);
            auto above = model_a.upper_bound(id);
            REQUIRE(a.next(id) == (above == model_a.end() ? std::nullopt : std::optional(*above)));
        }
        REQUIRE(matches(a | b, model_or));
        REQUIRE(matches(a & b, model_and));
        REQUIRE(matches(a - b, model_minus));
        REQUIRE(a.intersects(b) == !model_and.empty());
        REQUIRE(a.includes(b) == (model_and == model_b));
    }
}

TEST_CASE("idset: from JSON", "[idset]") {
    auto payload = Json::object("ranks", "0-3", "bad", "3-0", "number", 1);
    CHECK(payload.get<Idset>("ranks").count() == 4);
    CHECK(payload.get_or("absent", Idset{1}) == Idset{1});
    CHECK_THROWS_WITH(payload.get<Idset>("number"), "key 'number': expected idset, got integer");
    CHECK(!payload["bad"].try_as<Idset>());
}
