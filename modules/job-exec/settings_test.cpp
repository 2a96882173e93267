#include "settings.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <csignal>

using namespace flux;
using namespace flux::job_exec;
using namespace std::chrono_literals;

namespace {

Settings decode(const char* config, std::vector<std::string> arguments = {}) {
    auto json = Json::parse(config);
    return Settings::decode(json, arguments);
}

} // namespace

TEST_CASE("settings by default") {
    auto settings = decode("{}");
    CHECK(settings.service == "rexec");
    CHECK(settings.kill.kill_timeout == 5s);
    CHECK(settings.shell_exit_timeout == 30s);
    CHECK(settings.barrier_timeout == 30min);
    CHECK(settings.term_signal == SIGTERM);
    CHECK(settings.kill_signal == SIGKILL);
    CHECK(settings.job_shell.ends_with("/flux-shell"));
    auto json = settings.to_json();
    CHECK(json.get<double>("effective-max-kill-timeout") == 640);
    CHECK(json.get<double>("max-kill-timeout") == -1);
    CHECK(json.get<std::string_view>("term-signal") == "SIGTERM");
}

TEST_CASE("settings from configuration and arguments") {
    auto settings = decode(R"({"exec":{"kill-timeout":"1.5s","shell-exit-timeout":"none","barrier-timeout":"0",
        "term-signal":"USR1","max-kill-count":3,"imp":"/imp","broker-grace":"1m",
        "testexec":{"allow-guests":true}}})",
                           {"kill-signal=9", "kill-timeout=2s"});
    CHECK(settings.kill.kill_timeout == 2s);
    CHECK(!settings.shell_exit_timeout);
    CHECK(!settings.barrier_timeout);
    CHECK(settings.term_signal == SIGUSR1);
    CHECK(settings.kill_signal == SIGKILL);
    CHECK(settings.kill.max_kill_count == 3);
    CHECK(settings.imp == "/imp");
    CHECK(settings.broker_grace == 60s);
    CHECK(settings.guests_may_mock);
}

TEST_CASE("bad settings") {
    CHECK_THROWS_AS(decode(R"({"exec":{"kill-timeout":"soon"}})"), Error);
    CHECK_THROWS_AS(decode(R"({"exec":{"kill-timeout":0}})"), Error);
    CHECK_THROWS_AS(decode(R"({"exec":{"term-signal":"SIGNONE"}})"), Error);
    CHECK_THROWS_AS(decode(R"({"exec":{"max-kill-count":"0"}})"), Error);
    CHECK_THROWS_AS(decode("{}", {"colour=red"}), Error);
}
