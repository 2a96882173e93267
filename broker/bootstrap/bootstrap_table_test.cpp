#include "broker/bootstrap/bootstrap_table.hpp"
#include "broker/bootstrap/business_card.hpp"

#include <flux/toml.hpp>

#include <catch2/catch.hpp>

using flux::broker::BootstrapTable;
using flux::broker::BusinessCard;

namespace {

BootstrapTable table(const std::string& toml) { return BootstrapTable(flux::parse_toml(toml, "test")); }

/// Why a table is refused, after the beginning that all have.
std::string refusal(const std::string& toml) {
    try {
        table(toml).parents();
    } catch (const flux::Error& error) {
        std::string text = error.what(), begin = "Config file error [bootstrap]: ";
        return text.starts_with(begin) ? text.substr(begin.size()) : text;
    }
    return "";
}

} // namespace

TEST_CASE("bootstrap table: a cluster", "[bootstrap]") {
    auto cluster = table(R"(
        curve_cert = "/etc/flux/system/curve.cert"
        default_port = 8050
        default_bind = "tcp://eth0:%p"
        default_connect = "tcp://%h:%p"
        hosts = [
            { host = "mgmt0", bind = "tcp://ib0:9050", connect = "tcp://mgmt0-ib:9050" },
            { host = "node[1-3]" },
            { host = "node[2,4]", parent = "node1", bind = "ipc:///tmp/%h-100%%" },
        ])");
    REQUIRE(cluster.size() == 5);
    CHECK(cluster.hosts()[4].name == "node4");
    CHECK(cluster.rank_of("mgmt0") == 0);
    CHECK(cluster.rank_of("node4") == 4);
    CHECK_THROWS_WITH(cluster.rank_of("node9"), "Config file error [bootstrap]: node9 not found in hosts");
    CHECK(cluster.bind_uri(0) == "tcp://ib0:9050");
    CHECK(cluster.connect_uri(0) == "tcp://mgmt0-ib:9050");
    CHECK(cluster.bind_uri(1) == "tcp://eth0:8050");
    CHECK(cluster.connect_uri(1) == "tcp://node1:8050");
    CHECK(cluster.bind_uri(2) == "ipc:///tmp/node2-100%"); // a later entry adds what was missing
    CHECK(cluster.parents() == std::vector<std::uint32_t>{0, 0, 1, 0, 1});
}

TEST_CASE("bootstrap table: without hosts", "[bootstrap]") {
    CHECK(table("").size() == 1);
    CHECK(table("hosts = []").rank_of("any") == 0);
    CHECK(table("hosts = [{host = \"a\"}]").size() == 1); // one host needs no certificate
}

TEST_CASE("bootstrap table: what is refused", "[bootstrap]") {
    struct Case {
        const char* toml;
        const char* why;
    };
    for (auto [toml, why] : {
             Case{"hosts = [{host = \"a\"}, {host = \"b\"}]", "curve_cert must be defined for size > 1"},
             Case{"default_port = 65536", "default_port must be in the range of 0-65535"},
             Case{"default_port = -1", "default_port must be in the range of 0-65535"},
             Case{"port = 1", "unknown key 'port'"},
             Case{"hosts = 1", "hosts must be an array of tables"},
             Case{"hosts = [\"a\"]", "invalid hosts[0]: expected a table, got string"},
             Case{"hosts = [{host = \"a\"}, {bond = \"b\"}]", "invalid hosts[1]: unknown key 'bond'"},
             Case{"hosts = [{host = \"a_b\"}]", "invalid hosts[0]: 'a_b' is no host name"},
             Case{"curve_cert = \"c\"\nhosts = [{host = \"a\", parent = \"b\"}, {host = \"b\"}]",
                  "a: rank 0 must have no parent"},
             Case{"curve_cert = \"c\"\nhosts = [{host = \"a\"}, {host = \"b\", parent = \"x\"}]",
                  "b: parent x not found in hosts"},
             Case{"curve_cert = \"c\"\nhosts = [{host = \"a\"}, {host = \"b\", parent = \"b\"}]",
                  "b: a host cannot be its own parent"},
             Case{"curve_cert = \"c\"\nhosts = [{host = \"a\"}, {host = \"b\", parent = \"c\"}, "
                  "{host = \"c\", parent = \"b\"}]",
                  "b: parents form a cycle"},
         })
        CHECK(refusal(toml) == why);
    CHECK(refusal("hosts = [{bind = \"tcp://x:1\"}]").starts_with("invalid hosts[0]: "));
    CHECK(refusal("hosts = [{host = \"a[\"}]").starts_with("invalid hosts[0]: "));
    CHECK(refusal("enable_ipv6 = 1").find("enable_ipv6") != std::string::npos);
}

TEST_CASE("bootstrap table: URIs that are refused", "[bootstrap]") {
    struct Case {
        const char* bind;
        const char* why;
    };
    for (auto [bind, why] : {
             Case{"", "Config file error [bootstrap]: a: bind and default_bind are undefined, but it has children"},
             Case{"udp://a:1", "Config file error [bootstrap]: bind 'udp://a:1': must be a tcp or ipc URI"},
             Case{"tcp://a:*", "Config file error [bootstrap]: bind 'tcp://a:*': the port cannot be a wildcard"},
             Case{"tcp://a:%x", "Config file error [bootstrap]: bind 'tcp://a:%x': unknown token after %"},
         })
        CHECK_THROWS_WITH(table(std::string("hosts = [{host = \"a\", bind = \"") + bind + "\"}]").bind_uri(0), why);
    auto long_path = table("hosts = [{host = \"a\", bind = \"ipc:///" + std::string(200, 'x') + "\"}]");
    CHECK_THROWS_AS(long_path.bind_uri(0), flux::Error);
}

TEST_CASE("business cards", "[bootstrap]") {
    BusinessCard card;
    card.host = "a";
    card.public_key = "00ff";
    card.uris = {"tcp://10.0.0.1:7", "ipc:///tmp/x"};
    CHECK(card.to_string() == R"({"host":"a","pubkey":"00ff","uri":["tcp://10.0.0.1:7","ipc:///tmp/x"]})");
    CHECK(BusinessCard::parse(card.to_string()).uris == card.uris);
    for (auto text :
         {"", "[]", "{}", R"({"host":1,"uri":[]})", R"({"host":"a","uri":[1]})", R"({"host":"a","uri":""})"})
        CHECK_THROWS_AS(BusinessCard::parse(text), flux::Error);
}
