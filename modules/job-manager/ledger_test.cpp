#include "ledger.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace flux;
using namespace flux::job_manager;

namespace {

struct Store {
    int wakes = 0;
    std::deque<std::pair<std::size_t, Ledger::Effect>> commits; // operations, callback
    Ledger ledger{
        [this](kvs::Transaction txn, Ledger::Effect done) { commits.emplace_back(txn.size(), std::move(done)); },
        [this] { ++wakes; }};
    std::string log;
    Ledger::Effect write(char c) {
        return [this, c] { log += c; };
    }
    void answer() {
        auto done = std::move(commits.front().second);
        commits.pop_front();
        done();
    }
};

} // namespace

TEST_CASE("ledger: effects wait for their batch", "[job-manager]") {
    Store s;
    s.ledger.then(s.write('a'));
    CHECK(s.log == "a");
    CHECK(s.wakes == 0);

    s.ledger.transaction().put("x", "1");
    s.ledger.then(s.write('b'));
    s.ledger.transaction().put("y", "1");
    CHECK(s.wakes == 1);
    s.ledger.flush();
    REQUIRE(s.commits.size() == 1);
    CHECK(s.commits[0].first == 2);

    s.ledger.then(s.write('c')); // nothing to write: with the first
    s.ledger.flush();
    CHECK(s.commits.size() == 1);
    s.ledger.transaction().put("z", "1");
    s.ledger.then(s.write('d'));
    s.ledger.flush();
    CHECK(s.commits.size() == 2);

    s.answer();
    CHECK(s.log == "abc");
    s.answer();
    CHECK(s.log == "abcd");
    CHECK(s.ledger.idle());
}

TEST_CASE("ledger: effects may write", "[job-manager]") {
    Store s;
    s.ledger.transaction().put("x", "1");
    s.ledger.then([&] {
        s.ledger.transaction().put("y", "1");
        s.ledger.then(s.write('b'));
    });
    s.ledger.then(s.write('a'));
    s.ledger.flush();
    s.answer();
    CHECK(s.log == "a");
    s.ledger.flush();
    s.answer();
    CHECK(s.log == "ab");
}
