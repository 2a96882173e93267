#include "cmd/select/select.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <csignal>

using namespace flux;

TEST_CASE("users") {
    CHECK(select::user("all") == select::all_users);
    CHECK(select::user("17") == 17);
    CHECK(select::user("root") == 0);
    CHECK_THROWS_WITH(select::user("no such user"), "Invalid user no such user specified");
    CHECK(select::user_name(0) == "root");
    CHECK(select::user_name(4294967294) == "4294967294");
}

TEST_CASE("states") {
    CHECK(select::state_mask({}) == 0);
    CHECK(select::state_mask({"run", "PENDING"}) == 30);
    CHECK_THROWS_AS(select::state_mask({"x"}), Error);
}

TEST_CASE("signals") {
    CHECK(select::signal_number("9") == SIGKILL);
    CHECK(select::signal_number("usr1") == SIGUSR1);
    CHECK(select::signal_number("SIGTERM") == SIGTERM);
    for (const char* text : {"0", "999", "-1", "", "SIG", "NO"}) CHECK_THROWS_AS(select::signal_number(text), Error);
}
