#include "cmd/follow/proctable.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::follow;

namespace {

std::string decode(const char* text) {
    auto json = Json::parse(text);
    std::string all;
    for (const auto& process : decode_proctable(json))
        all += process.host + ":" + process.executable + ":" + std::to_string(process.task) + ":" +
               std::to_string(process.pid) + " ";
    return all;
}

} // namespace

TEST_CASE("recorded tables of processes") {
    CHECK(decode(R"({"hosts":["node"],"executables":["sleep"],"ids":[0],"pids":[10254],"ranks":[0]})") ==
          "node:sleep:0:10254 ");
    CHECK(decode(R"({"hosts":[["vm",[[-1,-3]]]],"executables":[["sleep",[[-1,-3]]]],"ids":[[0,3]],)"
                 R"("pids":[[329,1],[-3,1]],"ranks":[[0,-1],[1,-1]]})") ==
          "vm:sleep:0:329 vm:sleep:1:330 vm:sleep:2:327 vm:sleep:3:328 ");
    CHECK(decode(R"({"hosts":[["n",[[1,1,1]]]],"executables":[["x",[[-1,-3]]]],"ids":[[0,3]],"pids":[[5,-3]]})") ==
          "n1:x:0:5 n2:x:1:5 n3:x:2:5 n4:x:3:5 ");
}

TEST_CASE("tables that are wrong") {
    for (const char* text : {R"({})", R"({"hosts":["a"],"executables":["a"],"ids":[0,1],"pids":[1]})",
                             R"({"hosts":["a"],"executables":["a"],"ids":[[0,99999999999]],"pids":[1]})",
                             R"({"hosts":["a"],"executables":["a"],"ids":["x"],"pids":[1]})",
                             R"({"hosts":[["a",[[-1,-99999999999]]]],"executables":["a"],"ids":[0],"pids":[1]})"}) {
        INFO(text);
        if (std::string_view(text) == "{}")
            CHECK(decode(text).empty());
        else
            CHECK_THROWS_AS(decode(text), Error);
    }
}
