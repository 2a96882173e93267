#include <flux/resource_set.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using flux::Error;
using flux::Hostlist;
using flux::Idset;
using flux::Json;
using flux::ResourceSet;

namespace {

// E(rank/children;hosts) of the reference's tables.
ResourceSet set_of(const char* ranks, const char* cores, const char* gpus, const char* hosts) {
    auto children = Json::object();
    if (*cores) children.set("core", cores);
    if (*gpus) children.set("gpu", gpus);
    auto entry = Json::object("rank", ranks, "children", std::move(children));
    auto execution = Json::object("R_lite", Json::array_of(std::move(entry)), "nodelist", Json::array_of(hosts));
    return ResourceSet::decode(Json::object("version", 1, "execution", std::move(execution)));
}

std::string lite(const ResourceSet& set) {
    auto R = set.encode();
    return R["execution"]["R_lite"].dump() + " " + R["execution"]["nodelist"].dump();
}

int errnum(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.errnum();
    }
    return 0;
}

} // namespace

TEST_CASE("resource set: encoding is that of the reference", "[R]") {
    CHECK(ResourceSet().encode().dump() ==
          R"({"version":1,"execution":{"R_lite":[],"starttime":0.0,"expiration":0.0,"nodelist":[""]}})");
    CHECK(set_of("0-1", "0-1", "", "node,node").encode().dump() ==
          R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-1"}}],)"
          R"("starttime":0.0,"expiration":0.0,"nodelist":["node,node"]}})");
    auto job = R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"1"}}],)"
               R"("starttime":1795968673.8355966,"expiration":0.0,"nslots":1,"nodelist":["node"]}})";
    CHECK(ResourceSet::parse(job).encode().dump() == job);
    auto full = R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-3","gpu":"0-1"}}],)"
                R"("starttime":0.0,"expiration":0.0,"nodelist":["n[0-1]"],)"
                R"("properties":{"batch":"0-1","debug":"1"}},"scheduling":{"writer":"x"}})";
    CHECK(ResourceSet::parse(full).encode().dump() == full);
    auto bare = R"({"version":1,"execution":{"R_lite":[{"rank":"3","children":{"core":"0"}}],)"
                R"("starttime":0.0,"expiration":0.0}})";
    CHECK(ResourceSet::parse(bare).encode().dump() == bare);
}

TEST_CASE("resource set: decoding groups ranks and drops what is unknown", "[R]") {
    auto set = ResourceSet::parse(
        R"({"version":1,"attributes":{},"execution":{"R_lite":[{"rank":"2","children":{"gpu":"0","core":"0"}},)"
        R"({"rank":"0","children":{"core":"0"}},{"rank":"0","children":{"gpu":"0"}},{"rank":"1","children":{}}],)"
        R"("nodelist":["n0","n[1-2]"],"expiration":7,"other":1}})");
    CHECK(lite(set) == R"([{"rank":"0,2","children":{"core":"0","gpu":"0"}}] ["n[0,2]"])");
    CHECK(set.expiration == 7);
    CHECK(set.host(2) == "n2");
    CHECK(set.host(1).empty());
    CHECK(set.children(2).summary() == "core0,gpu0");
    CHECK(set.ranks_on(Hostlist::parse("n2,n1")).encode() == "2");
}

TEST_CASE("resource set: malformed R", "[R]") {
    auto decode = [](const char* text) { ResourceSet::parse(text); };
    CHECK_THROWS_WITH(decode("{}"), "Object item not found: version");
    CHECK_THROWS_WITH(decode(R"({"version":2})"), "invalid version=2");
    CHECK_THROWS_WITH(decode(R"({"version":1,"execution":{"R_lite":[{"rank":"0"}]}})"),
                      "Object item not found: children");
    CHECK_THROWS_WITH(
        decode(R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"0"}}],"properties":{"a":"1"}}})"),
        "rank 1 not found in target resource list");
    for (
        auto bad : {
            R"({"version":1,"execution":{"R_lite":[{"rank":"1-0","children":{"core":"0"}}]}})",
            R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"x"}}]}})",
            R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"0"}},{"rank":"0-1","children":{"core":"0"}}]}})",
            R"({"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0"}}],"nodelist":["n0"]}})",
            R"({"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"0"}}],"properties":{"a":1}}})",
            R"({"version":1,"execution":{"R_lite":[],"starttime":5,"expiration":4}})",
            R"({"version":1,"execution":{"R_lite":[],"nslots":0}})",
            R"({"version":1,"execution":{"R_lite":{}}})",
        })
        CHECK_THROWS_AS(decode(bad), Error);
}

TEST_CASE("resource set: algebra vectors", "[R]") {
    auto left = set_of("0-1", "0-1", "", "n[0-1]");
    left.append(set_of("2", "0-1", "0", "n2"));
    CHECK(lite(left) == R"([{"rank":"0-1","children":{"core":"0-1"}},{"rank":"2","children":{"core":"0-1","gpu":"0"}}])"
                        R"( ["n[0-2]"])");
    auto halves = set_of("0", "0-1", "", "n0");
    halves.append(set_of("0", "2-3", "", "n0"));
    CHECK(lite(halves) == R"([{"rank":"0","children":{"core":"0-3"}}] ["n0"])");
    CHECK(errnum([&] { halves.append(set_of("0", "3", "", "n0")); }) == EEXIST);
    CHECK(errnum([&] { halves.append(set_of("0", "4", "", "n9")); }) == EINVAL);
    CHECK(lite(halves) == R"([{"rank":"0","children":{"core":"0-3"}}] ["n0"])");

    auto four = set_of("0-3", "0-3", "0", "n[0-3]");
    CHECK(lite(four.without(set_of("1-2", "0-1", "", "n[1-2]"))) ==
          R"([{"rank":"0,3","children":{"core":"0-3","gpu":"0"}},{"rank":"1-2","children":{"core":"2-3","gpu":"0"}}])"
          R"( ["n[0-3]"])");
    CHECK(lite(four.without(set_of("1-2", "0-3", "0", "n[1-2]"))) ==
          R"([{"rank":"0,3","children":{"core":"0-3","gpu":"0"}}] ["n[0,3]"])");
    CHECK(lite(four.common(set_of("2-5", "2-5", "", "n[2-5]"))) ==
          R"([{"rank":"2-3","children":{"core":"2-3"}}] ["n[2-3]"])");
    CHECK(lite(four.common(set_of("7", "0", "", "n7"))) == R"([] [""])");
    CHECK(lite(four.common(set_of("3", "0", "", "other"))) == R"([] [""])");
    CHECK(lite(four.united(set_of("3-4", "2-5", "", "n[3-4]"))) ==
          R"([{"rank":"0-2","children":{"core":"0-3","gpu":"0"}},{"rank":"3","children":{"core":"0-5","gpu":"0"}},)"
          R"({"rank":"4","children":{"core":"2-5"}}] ["n[0-4]"])");
    CHECK(four.intersects(set_of("3", "3", "", "n3")));
    CHECK(!four.intersects(set_of("3", "4", "", "n3")));
}

TEST_CASE("resource set: whole ranks", "[R]") {
    auto set = set_of("0-3", "0-3", "0-1", "n[0-3]");
    set.set_property("batch", Idset::parse("0-1"));
    set.set_property("debug", Idset::parse("2-3"));
    set.set_property("+queue", Idset::parse("0-3"));
    set.nslots = 4;
    CHECK(set.summary() == "rank[0-3]/core[0-3],gpu[0-1]");
    CHECK(set.count("core") == 16);
    CHECK(set.count("node") == 4);
    CHECK(set.count("gpu") == 8);
    CHECK(set.count("foo") == 0);
    auto some = set.copy_ranks(Idset::parse("1-2,9"));
    some.drop_local_properties();
    CHECK(some.encode().dump() ==
          R"({"version":1,"execution":{"R_lite":[{"rank":"1-2","children":{"core":"0-3","gpu":"0-1"}}],)"
          R"("starttime":0.0,"expiration":0.0,"nodelist":["n[1-2]"],"properties":{"batch":"1","debug":"2"}}})");
    set.remove_ranks(Idset::parse("1"));
    CHECK(set.ranks().encode() == "0,2-3");
    CHECK(set.hosts().encode() == "n[0,2-3]");
    CHECK(set.properties().at("batch").encode() == "0");
    CHECK_THROWS_WITH(set.set_property("a^b", {}), "invalid character '^' in property \"a^b\"");
    CHECK_THROWS_WITH(set.set_property("a", {7}), "rank 7 not found in target resource list");
    set.remove_ranks(Idset::parse("0-9"));
    CHECK(set.empty());
    CHECK(set.summary().empty());
}

TEST_CASE("resource set: renumbering", "[R]") {
    auto set = set_of("3-5", "4-7", "2-3", "n[3-5]");
    set.remap();
    CHECK(lite(set) == R"([{"rank":"0-2","children":{"core":"0-3","gpu":"2-3"}}] ["n[3-5]"])");
    auto two = set_of("3-5", "4-7", "", "n[3-5]");
    two.append(set_of("9", "0,2", "", "n9"));
    two.set_property("p", {5, 9});
    two.remap();
    CHECK(lite(two) ==
          R"([{"rank":"0-2","children":{"core":"0-3"}},{"rank":"3","children":{"core":"0-1"}}] ["n[3-5,9]"])");
    CHECK(two.properties().at("p").encode() == "2-3");

    auto three = set_of("0-2", "0-1", "", "n[0-2]");
    three.set_property("p", {0});
    three.rerank(Hostlist::parse("n[2,0,1]"));
    CHECK(lite(three) == R"([{"rank":"0-2","children":{"core":"0-1"}}] ["n[2,0-1]"])");
    CHECK(three.properties().at("p").encode() == "1");
    CHECK_THROWS_WITH(three.rerank(Hostlist::parse("n[0-1]")), "Too few hosts specified (expected 3)");
    CHECK_THROWS_WITH(three.rerank(Hostlist::parse("n[0-3]")), "Too many hosts specified (expected 3)");
    CHECK_THROWS_WITH(three.rerank(Hostlist::parse("n[0-1],x")), "failed to find one or more provided hosts in R");
    CHECK(errnum([&] { three.rerank(Hostlist::parse("n[0-1]")); }) == ENOSPC);
    auto same = set_of("0-1", "0", "", "node,node");
    same.rerank(Hostlist::parse("node,node"));
    CHECK(lite(same) == R"([{"rank":"0-1","children":{"core":"0"}}] ["node,node"])");
}

TEST_CASE("resource set: building rank by rank", "[R]") {
    ResourceSet set;
    flux::Children cores;
    cores.set("core", Idset::below(4));
    for (Idset::Id rank = 0; rank < 10000; ++rank) set.add(rank, "n" + std::to_string(rank), cores);
    CHECK(set.summary() == "rank[0-9999]/core[0-3]");
    CHECK(set.hosts().encode() == "n[0-9999]");
    CHECK(errnum([&] { set.add(5, "n5", cores); }) == EEXIST);
    // One entry per rank, as some writers make them.
    auto entries = Json::array();
    for (int rank = 0; rank < 10000; ++rank)
        entries.append(Json::object("rank", std::to_string(rank), "children", Json::object("core", "0-3")));
    auto R = Json::object("version", 1, "execution",
                          Json::object("R_lite", std::move(entries), "nodelist", Json::array_of("n[0-9999]")));
    CHECK(ResourceSet::decode(R).encode().equals(set.encode()));
}
