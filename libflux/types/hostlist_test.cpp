#include <flux/hostlist.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Error;
using flux::Hostlist;

TEST_CASE("hostlist: parse, encode, sort, unique", "[hostlist]") {
    struct Row {
        const char* input;
        const char* encoded;
        std::size_t count;
        const char* sorted = nullptr; // where it differs
        const char* unique = nullptr; // where it differs from sorted
    };
    auto row = GENERATE(values<Row>({
        {"", "", 0},
        {"foo", "foo", 1},
        {"foo01", "foo01", 1},
        {"foox,fooy,fooz", "foox,fooy,fooz", 3},
        {"[1-3,5-6]", "[1-3,5-6]", 5},
        {"foo[1-1]", "foo1", 1},
        {"foo1,foo2,foo3", "foo[1-3]", 3},
        {"foo3,foo2,foo1", "foo[3,2,1]", 3, "foo[1-3]"},
        {"foo1,foo1,foo1", "foo[1,1,1]", 3, nullptr, "foo1"},
        {"foo[1,1,2,1]", "foo[1,1-2,1]", 4, "foo[1,1,1-2]", "foo[1-2]"},
        {"[00-2]", "[00-02]", 3},
        {"foo[08-11]", "foo[08-11]", 4},
        {"foo9,foo10", "foo[9-10]", 2},
        {"foo09,foo10", "foo[09-10]", 2},
        {"foo9,foo010", "foo[9,010]", 2},
        {"foo[5,4,11-13]", "foo[5,4,11-13]", 5, "foo[4-5,11-13]"},
        {"foo[005,4,11-13]", "foo[005,4,11-13]", 5, "foo[4,11-13,005]"},
        {"foo[01-03,4]", "foo[01-03,4]", 4, "foo[4,01-03]"},
        {"node1,node01,node001", "node[1,01,001]", 3},
        {"node0001,node0002", "node[0001-0002]", 2},
        {"node[1-3],node[01-03]", "node[1-3,01-03]", 6},
        {"foo[0-2]-eth2", "foo0-eth2,foo1-eth2,foo2-eth2", 3},
        {"foo[1-2]x,foo3x", "foo1x,foo2x,foo3x", 3},
        {"foo[1-2]bar[3-4]", "foo1bar[3-4],foo2bar[3-4]", 2},
        {"foo[1-2]-[3-4]", "foo1-[3-4],foo2-[3-4]", 2},
        {"foo[1-2].example.com", "foo1.example.com,foo2.example.com", 2},
        {"foo1.example.com", "foo1.example.com", 1},
        {"foo[1-3],bar[1-3]", "foo[1-3],bar[1-3]", 6, "bar[1-3],foo[1-3]"},
        {"foo[10-12],foo[1-3]", "foo[10-12,1-3]", 6, "foo[1-3,10-12]"},
        {"a b c", "a,b,c", 3},
        {"a,b,a", "a,b,a", 3, "a,a,b", "a,b"},
        {"foo1,,foo2", "foo[1-2]", 2},
        {",foo", "foo", 1},
        {",", "", 0},
        {"x[1],x[2],x3", "x[1-3]", 3},
        {"007", "007", 1},
        {"f1o2o3", "f1o2o3", 1},
        {"foo-[1-2]", "foo-[1-2]", 2},
        {"foo{1-2}", "foo{1-2}", 1},
        {"foo[1-]", "foo1", 1},
        {"foo[0-1048575]", "foo[0-1048575]", 1048576},
        {"foo10,foo01", "foo[10,01]", 2, "foo[01,10]"},
        {"foo[98-102],foo[099-101]", "foo[98-102,099-101]", 8, "foo[98-99,099-100,100-101,101-102]",
         "foo[98-99,099-102]"},
        {"foo,foo1,foo", "foo,foo1,foo", 3, "foo,foo,foo1", "foo,foo1"},
        {"x[2-3]-a,x1-a", "x2-a,x3-a,x1-a", 3, "x1-a,x2-a,x3-a"},
        {"n99999999999999999999", "n99999999999999999999", 1},
        {"n18446744073709551615,n18446744073709551614", "n[18446744073709551615,18446744073709551614]", 2,
         "n[18446744073709551614-18446744073709551615]"},
    }));
    INFO(row.input);
    auto list = Hostlist::parse(row.input);
    CHECK(list.encode() == row.encoded);
    CHECK(list.size() == row.count);
    auto sorted = list;
    sorted.sort();
    auto expected = row.sorted ? row.sorted : row.encoded;
    CHECK(sorted.encode() == expected);
    CHECK(sorted.size() == row.count);
    list.sort_unique();
    CHECK(list.encode() == (row.unique ? row.unique : expected));
}

TEST_CASE("hostlist: what does not parse", "[hostlist]") {
    struct Row {
        std::string input;
        int errnum = EINVAL;
    };
    auto row = GENERATE(values<Row>({{"foo[]"},
                                     {"foo[1,]"},
                                     {"foo[,1]"},
                                     {"foo[3-1]"},
                                     {"foo[1"},
                                     {"foo1]"},
                                     {"foo[[1]]"},
                                     {"foo[a-b]"},
                                     {"foo[1-2-3]"},
                                     {"foo[1--2]"},
                                     {"foo[-1]"},
                                     {"foo[1, 2]"},
                                     {"foo[1]]"},
                                     {"foo[1]x[2"},
                                     {std::string(1024, 'x')},
                                     {"foo[0-1048576]", ERANGE},
                                     {"foo[99999999999999999999]", ERANGE}}));
    INFO(row.input);
    CHECK(!Hostlist::try_parse(row.input));
    try {
        Hostlist::parse(row.input);
    } catch (const Error& error) {
        CHECK(error.errnum() == row.errnum);
    }
}

TEST_CASE("hostlist: the whole list is bounded", "[hostlist]") {
    CHECK(Hostlist::parse("a[0-1048575],b[0-1048575],c[0-1048575],d[0-1048575]").size() == Hostlist::max_hosts);
    CHECK_THROWS_AS(Hostlist::parse("a[0-1048575],b[0-1048575],c[0-1048575],d[0-1048575],e"), Error);
}

TEST_CASE("hostlist: positions", "[hostlist]") {
    auto list = Hostlist::parse("foo[08-11],bar,foo[1-2]-x,foo[08]");
    CHECK(list.at(0) == "foo08");
    CHECK(list.at(3) == "foo11");
    CHECK(list.at(4) == "bar");
    CHECK(list.at(6) == "foo2-x");
    CHECK(list.find("foo08") == 0);
    CHECK(list.find("foo10") == 2);
    CHECK(list.find("foo2-x") == 6);
    CHECK(!list.find("foo8"));
    CHECK(!list.find("foo008"));
    CHECK(!list.find("foo12"));
    CHECK(!list.find("foo"));
    CHECK(!list.find("foo-x"));
    CHECK(Hostlist::parse("foo1[2-3]").find("foo13") == 1);
    CHECK_THROWS_AS(list.at(8), Error);
    std::string names;
    for (auto host : list) names += host + ' ';
    CHECK(names == "foo08 foo09 foo10 foo11 bar foo1-x foo2-x foo08 ");
}

TEST_CASE("hostlist: add and remove", "[hostlist]") {
    auto list = Hostlist::parse("n[08-12],a,n9");
    CHECK(list.remove(Hostlist::parse("n10,a,absent,n9")) == 3);
    CHECK(list.encode() == "n[08-09,11-12]");
    CHECK(list.size() == 4);
    list.append(Hostlist::parse("n13,b"));
    CHECK(list.encode() == "n[08-09,11-13],b");
    list.push_back("c[1]");
    CHECK(list.at(list.size() - 1) == "c[1]");
    list = Hostlist::parse("n[08-09]");
    list.append(list);
    CHECK(list.encode() == "n[08-09,08-09]");
    CHECK(list.remove(Hostlist::parse("n08")) == 1);
    CHECK(list.encode() == "n[09,08-09]");
    CHECK(list.remove(list) == 3);
    CHECK(list.empty());
}

TEST_CASE("hostlist: equality is by names", "[hostlist]") {
    CHECK(Hostlist::parse("foo[1-2]x") == Hostlist::parse("foo1x,foo2x"));
    CHECK(Hostlist::parse("foo1[2-3]") == Hostlist::parse("foo[12-13]"));
    CHECK(!(Hostlist::parse("a,b") == Hostlist::parse("b,a")));
    CHECK(flux::Json::object("hosts", "n[1-2]").get<Hostlist>("hosts").size() == 2);
}
