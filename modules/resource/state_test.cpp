#include "state.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using flux::resource::State;

namespace {

ResourceSet four() {
    return ResourceSet::parse(
        R"({"version":1,"execution":{"R_lite":[{"rank":"0-3","children":{"core":"0-1"}}],"nodelist":["n[0-3]"]}})");
}

EventlogEntry event(const char* name, const char* idset, const char* hosts = nullptr) {
    auto context = Json::object("idset", idset);
    if (hosts) context.set("nodelist", hosts);
    return EventlogEntry(100.0, name, std::move(context));
}

State defined(const char* method) {
    State state(4, Hostlist::parse("n[0-3]"));
    state.stage(four());
    state.apply(EventlogEntry("resource-define", Json::object("method", method)));
    return state;
}

} // namespace

TEST_CASE("resource state: up is what is online and nothing else", "[resource]") {
    State state(4, Hostlist::parse("n[0-3]"));
    state.apply(event("online", "0-3"));
    CHECK(state.up().empty());
    CHECK_THROWS_AS(state.require_defined(), Error);
    state.stage(four());
    CHECK(state.up().empty());
    state.apply(EventlogEntry("resource-define", Json::object("method", "kvs")));
    CHECK(state.up() == Idset::below(4));
    state.apply(event("torpid", "3"));
    state.apply(event("drain", "1", "n1"));
    CHECK(state.up() == Idset{0, 2});
    state.set_exclude(Idset{0});
    CHECK(state.up() == Idset{2});
    state.apply(event("lively", "3"));
    state.apply(event("undrain", "1", "n1"));
    CHECK(state.up() == Idset{1, 2, 3});
    state.apply(EventlogEntry("resource-update", Json::object("expiration", 5.0)));
    CHECK(state.R().expiration == 5.0);
}

TEST_CASE("resource state: ranks are lost unless the administrator listed them", "[resource]") {
    auto listed = defined("configuration");
    listed.apply(event("online", "0-3"));
    listed.apply(event("offline", "3"));
    CHECK(listed.lost().empty());
    auto found = defined("dynamic-discovery");
    found.apply(event("online", "0-2"));
    found.apply(event("offline", "2-3"));
    CHECK(found.lost() == Idset{2});
    CHECK(found.hidden() == Idset{2});
    found.apply(event("online", "2"));
    CHECK(found.lost().empty());
}

TEST_CASE("resource state: a drain follows the host", "[resource]") {
    auto state = defined("kvs");
    state.apply(event("drain", "0-1", "n[3,1]"));
    CHECK(state.drain().ranks() == Idset{1, 3});
    state.apply(event("drain", "2", "gone"));
    CHECK(state.drain().ranks() == Idset{1, 3});
    CHECK_THROWS_AS(state.apply(event("drain", "2")), Error);
    CHECK_THROWS_AS(state.apply(event("drain", "2", "a,b")), Error);
    auto checkpoint = state.checkpoint(1000);
    CHECK(checkpoint.dump() ==
          R"({"timestamp":1000.0,"drain_state":{"1,3":{"timestamp":100.0,"reason":"","nodelist":"n[1,3]"}}})");
    State moved(4, Hostlist::parse("n[1,0,3,2]"));
    CHECK(moved.restore(checkpoint) == 1000);
    CHECK(moved.drain().ranks() == Idset{0, 2});
    CHECK(moved.drain().explained().empty());
}

TEST_CASE("resource state: targets", "[resource]") {
    auto state = defined("kvs");
    CHECK(state.targets("1-2") == Idset{1, 2});
    CHECK(state.targets("n[0,3]") == Idset{0, 3});
    CHECK_THROWS_WITH(state.targets(""), "idset is empty");
    CHECK_THROWS_WITH(state.targets("4"), "idset is out of range");
    CHECK_THROWS_WITH(state.targets("n[1,9],x"), "invalid targets: invalid hosts: n9,x");
    CHECK_THROWS_WITH(state.targets("n["), "invalid targets: Hostlist cannot be decoded");
    State unknown(2, Hostlist::parse("a,b"));
    CHECK_THROWS_WITH(unknown.targets("a"), "R is unavailable for mapping hostnames to ranks");
}
