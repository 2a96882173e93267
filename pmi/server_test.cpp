#include <flux/error.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <pmi/server.hpp>

using namespace flux::pmi;

namespace {

std::string answer(Server& server, unsigned client, const std::string& line) {
    const auto outcome = server.feed(client, line);
    REQUIRE(outcome.replies.size() == 1);
    CHECK(outcome.replies[0].client == client);
    CHECK(!outcome.exchange);
    CHECK(!outcome.abort);
    return outcome.replies[0].bytes;
}

std::string put(const std::string& key, const std::string& value, const std::string& kvsname = "any") {
    return "cmd=put kvsname=" + kvsname + " key=" + key + " value=" + value;
}

std::string get(const std::string& key) { return "cmd=get kvsname=any key=" + key; }

} // namespace

TEST_CASE("pmi server: one request, one answer", "[pmi]") {
    Server server({"ƒ2aV2gb9", 1, 1});
    const auto [request, expected] = GENERATE(table<std::string, std::string>({
        {"cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"},
        {"cmd=init pmi_subversion=4 pmi_version=3", "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"},
        {"cmd=init pmi_version=1 pmi_subversion=0", "cmd=response_to_init rc=-1\n"},
        {"cmd=init pmi_version=0 pmi_subversion=9", "cmd=response_to_init rc=-1\n"},
        {"cmd=init pmi_version=2 pmi_subversion=0", "cmd=response_to_init rc=-1\n"},
        {"cmd=get_maxes", "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024\n"},
        {"cmd=get_appnum", "cmd=appnum rc=0 appnum=0\n"},
        {"cmd=get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=ƒ2aV2gb9\n"},
        {"cmd=get_universe_size", "cmd=universe_size rc=0 size=1\n"},
        {"cmd=get kvsname=x key=absent", "cmd=get_result rc=4\n"},
        {"cmd=publish_name service=a port=b", "cmd=publish_result rc=-1 msg=command not implemented\n"},
        {"cmd=unpublish_name service=a", "cmd=unpublish_result rc=-1 msg=command not implemented\n"},
        {"cmd=lookup_name service=a", "cmd=lookup_result rc=-1 msg=command not implemented\n"},
        {"cmd=barrier_in", "cmd=barrier_out rc=0\n"},
        {"cmd=finalize", "cmd=finalize_ack rc=0\n"},
    }));
    CAPTURE(request);
    CHECK(answer(server, 0, request) == expected);
}

TEST_CASE("pmi server: lines that are no requests end the conversation", "[pmi]") {
    Server server({"-", 1, 1});
    const auto line = GENERATE(
        as<std::string>(), "", "=", "cmd", "cmd=", "cmd=frobnicate", "key=value", "endcmd", "mcmd=other", "cmd=init",
        "cmd=init pmi_version=1", "cmd=init pmi_version=a pmi_subversion=1", "cmd=put kvsname=a value=b",
        "cmd=put kvsname=a key=b", "cmd=put key=a value=b", "cmd=get kvsname=a", "cmd=get key=a");
    CAPTURE(line);
    try {
        server.feed(0, line);
        FAIL("accepted");
    } catch (const flux::Error& error) {
        CHECK(error.errnum() == EPROTO);
        CHECK_THAT(error.text(), Catch::StartsWith("PMI: "));
    }
    CHECK(answer(server, 0, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
}

TEST_CASE("pmi server: names and values that are too long are refused with their codes", "[pmi]") {
    Server server({"-", 1, 1});
    CHECK(answer(server, 0, put(std::string(63, 'k'), std::string(1023, 'v'))) == "cmd=put_result rc=0\n");
    CHECK(answer(server, 0, get(std::string(63, 'k'))) == "cmd=get_result rc=0 value=" + std::string(1023, 'v') + "\n");
    CHECK(answer(server, 0, put(std::string(64, 'k'), "v")) == "cmd=put_result rc=5\n");
    CHECK(answer(server, 0, get(std::string(64, 'k'))) == "cmd=get_result rc=5\n");
    CHECK(answer(server, 0, put("k", std::string(1024, 'v'))) == "cmd=put_result rc=7\n");
    CHECK(answer(server, 0, put("k", "v", std::string(64, 'n'))) == "cmd=put_result rc=8\n");
    CHECK(answer(server, 0, get("k")) == "cmd=get_result rc=4\n");
}

TEST_CASE("pmi server: presets and node attributes stay here", "[pmi]") {
    Server server({"-", 1, 2});
    CHECK(server.preset("PMI_process_mapping", "(vector,(0,2,1))"));
    CHECK(!server.preset("long", std::string(1024, 'x')));
    CHECK(answer(server, 0, get("PMI_process_mapping")) == "cmd=get_result rc=0 value=(vector,(0,2,1))\n");
    CHECK(answer(server, 0, get("long")) == "cmd=get_result rc=4\n");
    answer(server, 0, put("local::attribute", "here"));
    answer(server, 0, put("0", "card"));
    CHECK(answer(server, 0, get("local::attribute")) == "cmd=get_result rc=0 value=here\n");
    const auto outcome = server.feed(0, "cmd=barrier_in");
    CHECK(outcome.exchange == Pairs{{"0", "card"}});
}

TEST_CASE("pmi server: a barrier of local clients ends when all are in", "[pmi]") {
    Server server({"-", 3, 3});
    for (int round = 0; round < 2; ++round) {
        CHECK(server.feed(2, "cmd=barrier_in").replies.empty());
        CHECK(server.feed(0, "cmd=barrier_in").replies.empty());
        CHECK_THROWS_AS(server.feed(0, "cmd=barrier_in"), flux::Error);
        const auto outcome = server.feed(1, "cmd=barrier_in");
        CHECK(!outcome.exchange);
        REQUIRE(outcome.replies.size() == 3);
        for (unsigned client = 0; client < 3; ++client) {
            CHECK(outcome.replies[client].client == client);
            CHECK(outcome.replies[client].bytes == "cmd=barrier_out rc=0\n");
        }
    }
}

TEST_CASE("pmi server: servers of one job exchange what is new", "[pmi]") {
    Server left({"job", 1, 2});
    Server right({"job", 1, 2});
    answer(left, 0, put("a", "1"));
    CHECK(answer(left, 0, get("a")) == "cmd=get_result rc=0 value=1\n");
    CHECK(answer(right, 0, get("a")) == "cmd=get_result rc=4\n");
    answer(right, 0, put("b", "2"));

    auto from_left = left.feed(0, "cmd=barrier_in");
    auto from_right = right.feed(0, "cmd=barrier_in");
    CHECK(from_left.replies.empty());
    REQUIRE(from_left.exchange);
    REQUIRE(from_right.exchange);
    auto all = *from_left.exchange;
    all.merge(*from_right.exchange);
    for (auto* server : {&left, &right}) {
        const auto replies = server->barrier_complete(all);
        REQUIRE(replies.size() == 1);
        CHECK(replies[0].bytes == "cmd=barrier_out rc=0\n");
    }
    CHECK(answer(right, 0, get("a")) == "cmd=get_result rc=0 value=1\n");

    answer(left, 0, put("a", "again"));
    CHECK(answer(left, 0, get("a")) == "cmd=get_result rc=0 value=again\n");
    from_left = left.feed(0, "cmd=barrier_in");
    CHECK(from_left.exchange == Pairs{{"a", "again"}});
    const auto replies = left.barrier_failed();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].bytes == "cmd=barrier_out rc=-1\n");
}

TEST_CASE("pmi server: spawn is read to its end and refused", "[pmi]") {
    Server server({"-", 2, 2});
    for (const auto* line : {"mcmd=spawn", "nprocs=1", "execname=/bin/true", "cmd=finalize"})
        CHECK(server.feed(0, line).replies.empty());
    CHECK(answer(server, 1, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
    CHECK(answer(server, 0, "endcmd") == "cmd=spawn_result rc=-1\n");
    CHECK(answer(server, 0, "cmd=get_appnum") == "cmd=appnum rc=0 appnum=0\n");
}

TEST_CASE("pmi server: abort and finalize are the embedder's", "[pmi]") {
    const auto [line, code, text] = GENERATE(table<std::string, int, std::string>({
        {"cmd=abort", 1, "aborted"},
        {"cmd=abort exitcode=7", 7, "aborted"},
        {"cmd=abort exit_code=8 error_msg=no more memory", 8, "no more memory"},
    }));
    Server server({"-", 1, 1});
    CHECK(server.feed(0, "cmd=finalize").finalized);
    const auto outcome = server.feed(0, line);
    CHECK(outcome.replies.empty());
    REQUIRE(outcome.abort);
    CHECK(outcome.abort->exit_code == code);
    CHECK(outcome.abort->text == text);
    CHECK(server.feed(0, "garbage").replies.empty());
}
