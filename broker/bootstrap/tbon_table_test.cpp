#include "broker/bootstrap/tbon_table.hpp"

#include <catch2/catch.hpp>

using flux::Json;
using flux::broker::check_tbon_table;

TEST_CASE("tbon table", "[bootstrap]") {
    CHECK_NOTHROW(check_tbon_table({}));
    CHECK_NOTHROW(check_tbon_table(Json::object("topo", "kary:2", "torpid_min", "5s", "zmqdebug", 1, "hold-timeout",
                                                "none", "child_rcvhwm", 2, "connect_timeout", "0")));
    struct Case {
        const char* json;
        const char* why;
    };
    for (auto [json, why] : {
             Case{R"([])", "Config file error [tbon]: expected a table, got array"},
             Case{R"({"topology":"kary:2"})", "Config file error [tbon]: unknown key 'topology'"},
             Case{R"({"topo":2})", "Config file error parsing tbon.topo: Expected string, got integer"},
             Case{R"({"torpid_max":30})", "Config file error parsing tbon.torpid_max: Expected string, got integer"},
             Case{R"({"zmqdebug":"1"})", "Config file error parsing tbon.zmqdebug: Expected integer, got string"},
             Case{R"({"zmq_io_threads":0})", "Config file error parsing tbon.zmq_io_threads: must be >= 1"},
             Case{R"({"child_rcvhwm":1})", "Config file error parsing tbon.child_rcvhwm: must be 0 or >= 2"},
         })
        CHECK_THROWS_WITH(check_tbon_table(Json::parse(json)), why);
    CHECK_THROWS_WITH(check_tbon_table(Json::object("tcp_user_timeout", "soon")),
                      Catch::StartsWith("Config file error parsing tbon.tcp_user_timeout: "));
}
