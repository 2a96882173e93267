#include "launch.hpp"

#include <flux/shell_protocol.hpp>
#include <flux/sign.hpp>

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <unistd.h>

using namespace flux;
using namespace flux::shell;

namespace {

Json launch_json() {
    auto json =
        Json::parse(R"({"id":77,"userid":1000,"owner":0,"broker_rank":3,"R":{"version":1},"cpusets":["0,2","1,3"],
                                "attrs":{"rundir":"/run/x"}})");
    json.set("J", SignedRequest::sign(R"({"version":1})", 1000));
    return json;
}

} // namespace

TEST_CASE("launch: what the agent hands over", "[shell]") {
    auto json = launch_json();
    auto text = json.dump() + "\n{}\n";
    int fd = ::memfd_create("launch", 0);
    REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::setenv(shell_protocol::init_variable, ("/proc/self/fd/" + std::to_string(fd)).c_str(), 1);
    auto launch = Launch::from_environment();
    REQUIRE(launch);
    CHECK(launch->id == JobId(77));
    CHECK(launch->userid == 1000);
    CHECK(launch->owner == 0);
    CHECK(launch->broker_rank == 3);
    CHECK(launch->jobspec.dump() == R"({"version":1})");
    CHECK(launch->attribute("rundir") == "/run/x");
    CHECK_FALSE(launch->attribute("jobid-path"));
    REQUIRE(launch->cpusets.size() == 2);
    CHECK(launch->cpusets[1].encode() == "1,3");
    CHECK_FALSE(Launch::from_environment());
    ::close(fd);
}

TEST_CASE("launch: what is refused", "[shell]") {
    auto json = launch_json();
    json.set("J", SignedRequest::sign("{}", 0));
    CHECK_THROWS_WITH(Launch::decode(json), Catch::Contains("signed by user 0"));
    json.erase("J");
    CHECK_THROWS_AS(Launch::decode(json), Error);
    json.set("jobspec", Json::object());
    CHECK_NOTHROW(Launch::decode(json));
    json.erase("broker_rank");
    CHECK_THROWS_WITH(Launch::decode(json), Catch::Contains("broker_rank"));
}
