#include "absences.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_exec;
using namespace std::chrono_literals;

namespace {

// Ranks 0 to 6, 1 above 3 and 4, all online and heard of; graces of 1 minute, routers of 10.
class Bench {
public:
    Bench() {
        settings.broker_grace = 1min;
        settings.rejoin_timeout = 10min;
        absences.set_parents({{3, 1}, {4, 1}, {5, 2}, {6, 2}});
        absences.set_online(Idset::parse("0-6"), start);
        for (std::uint32_t rank = 0; rank < 7; ++rank) absences.heard(rank);
    }
    std::string verdicts(Duration after) {
        std::string text;
        for (const auto& verdict : absences.verdicts(start + after))
            text += std::to_string(verdict.rank) + (verdict.loss == Loss::torpid ? "t" : "") + verdict.why + ";";
        return text;
    }
    void out(std::uint32_t rank, Duration after = 0s) { absences.out_of_reach(rank, " router", start + after); }

    Time start{};
    Settings settings{};
    Absences absences{settings, start};
};

} // namespace

TEST_CASE("absences: a lost broker has a grace", "[absences]") {
    Bench bench;
    CHECK_FALSE(bench.absences.deadline());
    CHECK(bench.absences.set_online(Idset::parse("0-4,6"), bench.start).empty());
    bench.out(5);
    CHECK(bench.absences.deadline() == bench.start + 1min);
    CHECK(bench.verdicts(59s).empty());
    SECTION("it comes back in time") {
        CHECK(bench.absences.set_online(Idset::parse("0-6"), bench.start + 59s) == Idset{5});
        bench.absences.heard(5);
        CHECK(bench.verdicts(1h).empty());
    }
    SECTION("it comes back later, and is asked for what it still has") {
        CHECK(bench.verdicts(1min) == "5;");
        CHECK(bench.verdicts(1h).empty());
        CHECK_FALSE(bench.absences.deadline());
        CHECK(bench.absences.set_online(Idset::parse("0-6"), bench.start + 1h) == Idset{5});
        bench.absences.set_online(Idset::parse("0-4,6"), bench.start + 1h);
        CHECK(bench.absences.set_online(Idset::parse("0-6"), bench.start + 1h).empty());
    }
}

TEST_CASE("absences: a host that boots is asked when it is up", "[absences]") {
    Bench bench;
    bench.absences.set_online(Idset::parse("0-4,6"), bench.start);
    bench.absences.without_agent(5);
    CHECK_FALSE(bench.absences.deadline());
    CHECK(bench.absences.set_online(Idset::parse("0-6"), bench.start) == Idset{5});
    bench.absences.set_online(Idset::parse("0-4,6"), bench.start);
    CHECK(bench.absences.set_online(Idset::parse("0-6"), bench.start).empty());
}

TEST_CASE("absences: a lost node has none", "[absences]") {
    Bench bench;
    bench.absences.set_online(Idset::parse("0-4,6"), bench.start);
    SECTION("told before") {
        bench.absences.set_node_lost(Idset{5});
        bench.out(5);
        CHECK(bench.verdicts(0s) == "5;");
    }
    SECTION("told after") {
        bench.out(5);
        CHECK(bench.verdicts(0s).empty());
        bench.absences.set_node_lost(Idset{5});
        CHECK(bench.verdicts(0s) == "5;");
    }
    SECTION("but what is configured") {
        bench.settings.node_grace = 5s;
        bench.absences.set_node_lost(Idset{5});
        bench.out(5);
        CHECK(bench.verdicts(4s).empty());
        CHECK(bench.verdicts(5s) == "5;");
    }
}

TEST_CASE("absences: those below a lost broker are waited for longer", "[absences]") {
    Bench bench;
    bench.absences.set_online(Idset::parse("0,2,5-6"), bench.start);
    bench.absences.set_node_lost(Idset{1});
    for (std::uint32_t rank : {1, 3, 4}) bench.out(rank);
    CHECK(bench.verdicts(9min) == "1;");
    SECTION("in vain") { CHECK(bench.verdicts(10min) == "3 router;4 router;"); }
    SECTION("and a moment more, after it") {
        bench.absences.set_online(Idset::parse("0-2,5-6"), bench.start + 9min);
        CHECK(bench.verdicts(9min + 59s).empty());
        bench.absences.heard(3);
        CHECK(bench.verdicts(10min) == "4;");
    }
}

TEST_CASE("absences: who has not joined yet", "[absences]") {
    Settings settings{};
    settings.rejoin_timeout = 10min;
    Time start{};
    Absences absences(settings, start);
    absences.out_of_reach(1, "", start + 1min);
    CHECK(absences.deadline() == start + 10min);
    absences.set_node_lost(Idset{1});
    CHECK(absences.deadline() == start + 1min);
}

TEST_CASE("absences: torpid brokers are waited for, if nothing else is configured", "[absences]") {
    Bench bench;
    SECTION("nothing") {
        bench.absences.set_torpid(Idset{2}, bench.start);
        CHECK(bench.verdicts(24h).empty());
        CHECK(bench.absences.set_torpid(Idset(), bench.start + 24h).empty());
    }
    SECTION("a limit") {
        bench.settings.torpid_timeout = 1h;
        bench.absences.set_torpid(Idset{2}, bench.start);
        CHECK(bench.absences.deadline() == bench.start + 1h);
        CHECK(bench.verdicts(1h) == "2t;");
        CHECK(bench.verdicts(2h).empty());
        CHECK_FALSE(bench.absences.deadline());
        CHECK(bench.absences.set_torpid(Idset(), bench.start + 24h) == Idset{2});
    }
}
