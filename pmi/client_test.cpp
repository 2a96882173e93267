#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <pmi/client.hpp>
#include <pmi/server_thread.hpp>
#include <thread>
#include <unistd.h>

using namespace flux::pmi;

namespace {

/// A peer that has said everything before it is asked, and hung up.
Client talk_to(const std::string& answers) {
    const SocketPairs pair(1);
    REQUIRE(::write(pair.server_ends[0], answers.data(), answers.size()) == static_cast<ssize_t>(answers.size()));
    ::shutdown(pair.server_ends[0], SHUT_WR);
    // Left open for reading so that the client can send; the kernel keeps what nobody reads.
    static std::vector<Client> keep_open;
    keep_open.emplace_back(pair.server_ends[0], 0, 1);
    return Client(pair.client_ends[0], 0, 1);
}

constexpr auto greeting = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"
                          "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4096\n"
                          "cmd=my_kvsname rc=0 kvsname=kvs_1\n";

} // namespace

TEST_CASE("pmi client: processes of a job exchange cards through a server", "[pmi]") {
    constexpr unsigned size = 8;
    SocketPairs sockets(size);
    ServerThread server(Server({"job", size, size}), sockets.server_ends);
    std::atomic<unsigned> good = 0;
    std::vector<std::thread> clients;
    for (unsigned rank = 0; rank < size; ++rank)
        clients.emplace_back([&, rank] {
            Client client(sockets.client_ends[rank], rank, size);
            client.init();
            bool all = client.kvsname() == "job" && client.universe_size() == size && client.appnum() == 0;
            for (int round = 0; round < 3; ++round) {
                const auto tail = " of round " + std::to_string(round);
                client.put(std::to_string(rank), "card " + std::to_string(rank) + tail);
                client.barrier();
                for (unsigned peer = 0; peer < size; ++peer)
                    all = all && client.get(std::to_string(peer)) == "card " + std::to_string(peer) + tail;
                client.barrier();
            }
            all = all && !client.find("nobody's");
            if (rank == 3) client.abort(42, "enough\nsaid");
            client.finalize();
            good += all;
        });
    for (auto& client : clients) client.join();
    CHECK(good == size);
    CHECK(server.join() == 42);
}

TEST_CASE("pmi client: a singleton answers itself", "[pmi]") {
    Client client;
    CHECK(client.singleton());
    client.init();
    CHECK(client.rank() == 0);
    CHECK(client.size() == 1);
    CHECK(client.universe_size() == 1);
    client.put("k", "v");
    client.barrier();
    CHECK(client.get("k") == "v");
    CHECK(!client.find("absent"));
    CHECK_THROWS_WITH(client.get("absent"), "PMI get absent: no such key");
    CHECK_THROWS_AS(client.put("", "v"), flux::Error);
    CHECK_THROWS_AS(client.put("a b", "v"), flux::Error);
    CHECK_THROWS_AS(client.put("k", "a\nb"), flux::Error);
    CHECK_THROWS_AS(client.put(std::string(64, 'k'), "v"), flux::Error);
    CHECK_THROWS_WITH(client.put("k", std::string(1024, 'v')), Catch::Contains("longer than 1023"));
    client.finalize();
}

TEST_CASE("pmi client: dialects of other servers", "[pmi]") {
    auto client = talk_to(std::string(greeting) + "cmd=get_result rc=0 msg=success\n"
                                                  "cmd=get_result rc=0 msg=success value=a b found=TRUE\n"
                                                  "cmd=get_result rc=-1 msg=key_k_not_found value=unknown\n"
                                                  "cmd=put_result msg=success\n");
    client.init();
    CHECK(client.kvsname() == "kvs_1");
    CHECK(client.limits().value == 4096);
    CHECK_THROWS_WITH(client.find("k"), Catch::StartsWith("PMI get k: "));
    CHECK(client.find("k") == "a b");
    CHECK(!client.find("k"));
    client.put("k", std::string(4095, 'v'));
    CHECK_THROWS_WITH(client.barrier(), "PMI barrier: server closed the connection");
}

TEST_CASE("pmi client: bad answers name the command", "[pmi]") {
    const auto [answers, text] = GENERATE(table<std::string, std::string>({
        {"", "PMI init: server closed the connection"},
        {"cmd=response_to_init rc=0", "PMI init: server closed the connection"},
        {"cmd=response_to_init rc=-1\n", "PMI init: server answers FAIL (-1)"},
        {"cmd=response_to_init rc=x\n", "PMI init: rc=x is no integer"},
        {"cmd=maxes rc=0\n", "PMI init: unexpected answer 'maxes'"},
        {"nonsense\n", "PMI init: no cmd= in 'nonsense'"},
        {"cmd=response_to_init rc=0\ncmd=maxes rc=0\n", "PMI get_maxes: no kvsname_max= in 'cmd=maxes rc=0'"},
        {std::string(10000, 'x'), "PMI init: line is longer than 8192 bytes"},
    }));
    auto client = talk_to(answers);
    CHECK_THROWS_WITH(client.init(), text);
}

TEST_CASE("pmi client: the environment", "[pmi]") {
    ::unsetenv("PMI_FD");
    CHECK(Client::from_environment().singleton());
    ::setenv("PMI_FD", "x", 1);
    CHECK_THROWS_WITH(Client::from_environment(), "PMI: PMI_FD='x' is no number");
    ::setenv("PMI_FD", "1000000", 1);
    CHECK_THROWS_WITH(Client::from_environment(), "PMI: PMI_RANK is not set");
    ::setenv("PMI_RANK", "2", 1);
    ::setenv("PMI_SIZE", "2", 1);
    CHECK_THROWS_WITH(Client::from_environment(), "PMI: PMI_RANK=2 is not below PMI_SIZE=2");
    ::setenv("PMI_SIZE", "3", 1);
    CHECK_THROWS_WITH(Client::from_environment(), Catch::Contains("Bad file descriptor"));
    const SocketPairs pair(1);
    ::setenv("PMI_FD", std::to_string(pair.client_ends[0]).c_str(), 1);
    const auto client = Client::from_environment();
    CHECK(!client.singleton());
    CHECK(client.rank() == 2);
    CHECK(client.size() == 3);
    ::close(pair.server_ends[0]);
    for (const auto* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(name);
}
