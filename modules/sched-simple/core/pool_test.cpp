#include "core/pool.hpp"

#include <catch2/catch.hpp>

using flux::Constraint;
using flux::Idset;
using flux::Json;
using flux::ResourceSet;
using flux::sched::Allocation;
using flux::sched::NodeSet;
using flux::sched::Pool;
using flux::sched::Request;

namespace {

ResourceSet set_of(const char* lite, const char* hosts) {
    return ResourceSet::decode(Json::object(
        "version", 1, "execution", Json::object("R_lite", Json::parse(lite), "nodelist", Json::array_of(hosts))));
}

// Ranks 0-3 with 4 cores, ranks 4-5 with 8 cores and 2 gpus.
ResourceSet mixed() {
    auto set = set_of(
        R"([{"rank":"0-3","children":{"core":"0-3"}},{"rank":"4-5","children":{"core":"0-7","gpu":"0-1"}}])", "n[0-5]");
    set.set_property("big", Idset::parse("4-5"));
    return set;
}

Pool pool_of(ResourceSet set) {
    Pool pool(std::move(set));
    pool.mark_up(pool.inventory().resources().ranks());
    return pool;
}

Request slots(std::uint64_t min, std::uint64_t cores, std::uint64_t gpus = 0, std::uint64_t max = 0) {
    Request request;
    request.slots = {min, std::max(min, max)};
    request.slot_cores = cores;
    request.slot_gpus = gpus;
    return request;
}

Request nodes(std::uint64_t min, std::uint64_t per_node, std::uint64_t cores, bool exclusive = false,
              std::uint64_t max = 0) {
    Request request;
    request.nodes = {min, std::max(min, max)};
    request.slots_per_node = per_node;
    request.slot_cores = cores;
    request.exclusive = exclusive;
    return request;
}

std::string take(Pool& pool, const Request& request, const NodeSet* mask = nullptr) {
    auto allocation = pool.allocate(request, mask);
    return allocation ? pool.describe(*allocation).summary() : "no";
}

} // namespace

TEST_CASE("pool: slots go to the emptiest nodes", "[sched]") {
    auto pool = pool_of(set_of(R"([{"rank":"0-1","children":{"core":"0-1"}}])", "node,node"));
    CHECK(take(pool, slots(1, 1)) == "rank0/core0");
    CHECK(take(pool, slots(1, 1)) == "rank1/core0");
    CHECK(take(pool, slots(1, 1)) == "rank0/core1");
    CHECK(take(pool, slots(1, 2)) == "no");
    CHECK(take(pool, slots(1, 1)) == "rank1/core1");
    CHECK(take(pool, slots(1, 1)) == "no");
}

TEST_CASE("pool: the slot form fills nodes in order", "[sched]") {
    auto pool = pool_of(mixed());
    CHECK(take(pool, slots(1, 1, 1)) == "rank4/core0,gpu0");
    CHECK(take(pool, slots(3, 3)) == "rank4/core[1-3] rank5/core[0-5]");
    auto other = pool_of(mixed());
    CHECK(take(other, slots(3, 3)) == "rank4/core[0-5] rank5/core[0-2]");
    CHECK(take(other, slots(2, 3, 0, 4)) == "rank[0-2]/core[0-2] rank5/core[3-5]");
    CHECK(take(other, slots(1, 4, 0, 100)) == "rank3/core[0-3]");
}

TEST_CASE("pool: the node form", "[sched]") {
    auto pool = pool_of(mixed());
    CHECK(take(pool, nodes(3, 1, 2)) == "rank[0,4-5]/core[0-1]");
    CHECK(take(pool, nodes(2, 1, 4)) == "rank[4-5]/core[2-5]");
    CHECK(take(pool, nodes(4, 1, 4)) == "no");
    CHECK(take(pool, nodes(1, 1, 1, true, 2)) == "rank[1-2]/core[0-3]");
    CHECK(take(pool, nodes(2, 1, 1, true)) == "no");
    CHECK(take(pool, nodes(1, 2, 1)) == "rank3/core[0-1]");
    auto request = nodes(1, 1, 1);
    request.slot_gpus = 2;
    CHECK(take(pool, request) == "rank4/core6,gpu[0-1]");
}

TEST_CASE("pool: down, removed and masked nodes are not used", "[sched]") {
    auto pool = pool_of(mixed());
    pool.mark_down(Idset::parse("4,99"));
    CHECK(take(pool, slots(1, 8)) == "rank5/core[0-7]");
    CHECK(take(pool, slots(1, 8)) == "no");
    CHECK(pool.unsatisfiable(slots(1, 8), nullptr).empty());
    CHECK(pool.down().summary() == "rank4/core[0-7],gpu[0-1]");
    pool.mark_up({4});
    pool.remove({5});
    CHECK(pool.all().ranks().encode() == "0-4");
    CHECK(pool.allocated().empty());
    CHECK(take(pool, slots(2, 8)) == "no");
    CHECK(pool.unsatisfiable(slots(2, 8), nullptr) ==
          "unsatisfiable request: need 2 slot(s) of 8 core(s), only 1 such slot(s) available (total cores: 24)");
    auto constraint = Json::parse(R"({"not":[{"properties":["big"]}]})");
    auto small = pool.admitted(Constraint::compile(constraint));
    CHECK(take(pool, slots(1, 8), &small) == "no");
    CHECK(take(pool, slots(5, 1), &small) == "rank0/core[0-3] rank1/core0");
    CHECK(pool.unsatisfiable(slots(1, 8), &small) ==
          "unsatisfiable request: need 1 slot(s) of 8 core(s), only 0 such slot(s) available (total cores: 16)");
}

TEST_CASE("pool: texts of what can never be had", "[sched]") {
    auto pool = pool_of(mixed());
    CHECK(pool.unsatisfiable(nodes(7, 1, 1, true), nullptr) ==
          "unsatisfiable request: need 7 exclusive node(s), only 6 eligible");
    CHECK(pool.unsatisfiable(nodes(3, 2, 4), nullptr) ==
          "unsatisfiable request: need 3 node(s) with 8 cores each, only 2 eligible");
    auto with_gpus = nodes(3, 1, 4);
    with_gpus.slot_gpus = 1;
    CHECK(pool.unsatisfiable(with_gpus, nullptr) ==
          "unsatisfiable request: need 3 node(s) with 4 cores and 1 GPUs each, only 2 eligible");
    CHECK(pool.unsatisfiable(slots(5, 1, 1), nullptr) ==
          "unsatisfiable request: need 5 slot(s) with 1 GPU(s) each, only 4 available (total GPUs: 4)");
    CHECK(pool.unsatisfiable(slots(32, 1), nullptr).empty());
}

TEST_CASE("pool: release gives back whole ranks of one job", "[sched]") {
    auto pool = pool_of(mixed());
    auto first = pool.allocate(nodes(6, 1, 2), nullptr);
    auto second = pool.allocate(nodes(6, 1, 2), nullptr);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(pool.release(*first, Idset::parse("1-2,77")).empty());
    CHECK(pool.describe(*first).ranks().encode() == "0,3-5");
    CHECK(pool.release(*first, Idset::parse("1")).encode() == "1");
    CHECK(take(pool, nodes(2, 1, 2, false, 9)) == "rank[1-2]/core[0-1] rank[4-5]/core[4-5]");
    pool.release(*first);
    pool.release(*second);
    CHECK(first->nslots == 6);
}

TEST_CASE("pool: booking what jobs hold already", "[sched]") {
    auto pool = pool_of(mixed());
    auto R = set_of(R"([{"rank":"0-1","children":{"core":"1-2"}},{"rank":"4,9","children":{"core":"0,63","gpu":"1"}}])",
                    "n[0-1,4,9]");
    auto allocation = pool.book(R);
    CHECK(pool.describe(allocation).summary() == "rank[0-1]/core[1-2] rank4/core0,gpu1");
    CHECK(pool.allocated().summary() == "rank[0-1]/core[1-2] rank4/core0,gpu1");
    CHECK_THROWS_AS(pool.book(set_of(R"([{"rank":"3-4","children":{"core":"0"}}])", "n[3-4]")), flux::Error);
    CHECK(pool.allocated().summary() == "rank[0-1]/core[1-2] rank4/core0,gpu1");
    pool.release(allocation);
    CHECK(pool.allocated().empty());
    CHECK(take(pool, nodes(6, 1, 1, true)) == "rank[0-3]/core[0-3] rank[4-5]/core[0-7],gpu[0-1]");
}

TEST_CASE("pool: ids need not begin at 0, and nodes may be wide", "[sched]") {
    auto pool = pool_of(set_of(R"([{"rank":"7","children":{"core":"4,10-200","gpu":"2-3"}}])", "x7"));
    CHECK(take(pool, slots(1, 3, 1)) == "rank7/core[4,10-11],gpu2");
    CHECK(take(pool, slots(1, 100)) == "rank7/core[12-111]");
    CHECK_THROWS_AS(Pool(set_of(R"([{"rank":"0","children":{"core":"0-2147483647"}}])", "x0")), flux::Error);
}

TEST_CASE("pool: a copy is a sandbox", "[sched]") {
    auto pool = pool_of(mixed());
    auto copy = pool;
    CHECK(take(copy, nodes(6, 1, 1, true)) != "no");
    CHECK(pool.allocated().empty());
    CHECK(take(pool, nodes(6, 1, 1, true)) != "no");
}
