#include "broker/bootstrap/local_network.hpp"

#include <flux/error.hpp>

#include <catch2/catch.hpp>

using namespace flux::broker;

namespace {

LocalNetwork example() {
    LocalNetwork network;
    network.addresses = {{"lo", "127.0.0.1"}, {"eth0", "fd00::5"}, {"eth0", "192.168.1.5"}, {"ib0", "10.1.2.3"}};
    network.default_interfaces = {"tun0", "eth0"};
    network.host_numbers = {"10.1.2.3", "fd00::7"};
    return network;
}

} // namespace

TEST_CASE("interface hints", "[bootstrap]") {
    auto network = example();
    CHECK(network.choose("default-route", false) == "192.168.1.5");
    CHECK(network.choose("default-route", true) == "fd00::5");
    CHECK(network.choose("hostname", false) == "10.1.2.3");
    CHECK(network.choose("hostname", true) == "fd00::7");
    CHECK(network.choose("ib0", false) == "10.1.2.3");
    CHECK(network.choose("ib0", true) == "10.1.2.3"); // better than nothing
    CHECK(network.choose("10.0.0.0/8", false) == "10.1.2.3");
    CHECK(network.choose("0.0.0.0/0", false) == "127.0.0.1");
    for (auto hint : {"ib1", "172.16.0.0/12", "10.0.0.0/33", ""})
        CHECK_THROWS_WITH(network.choose(hint, false),
                          std::string("tbon.interface-hint: this host has no address for '") + hint + "'");
    network.default_interfaces.clear();
    CHECK(network.choose("default-route", false) == "10.1.2.3");
    network.host_numbers.clear();
    CHECK(network.choose("default-route", false) == "127.0.0.1");
    CHECK_THROWS(network.choose("hostname", false));
}

TEST_CASE("default routes", "[bootstrap]") {
    constexpr auto routes = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                            "wlan0 00000000 0102A8C0 0003 0 0 600 00000000 0 0 0\n"
                            "eth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0\n"
                            "eth0 0001A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0\n";
    CHECK(default_interfaces(routes) == std::vector<std::string>{"eth0", "wlan0"});
    CHECK(default_interfaces("").empty());
}

TEST_CASE("the network of this host", "[bootstrap]") { CHECK(!LocalNetwork::read().addresses.empty()); }
