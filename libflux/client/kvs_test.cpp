#include <flux/kvs.hpp>
#include <flux/kvs_writer.hpp>

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using namespace std::chrono_literals;

namespace {

// A KVS that answers what the test wants, reached over a handle that talks to itself.
struct Service {
    Loop loop;
    Scope scope{loop};
    std::unique_ptr<Handle> handle = Handle::open(loop, "loop://");
    std::vector<Request> commits;
    std::vector<Json> payloads;

    Service() {
        handle->serve(kvs_protocol::commit, [this](Request request) {
            payloads.push_back(request.json().copy());
            commits.push_back(std::move(request));
            loop.stop();
        });
    }
    ~Service() { commits.clear(); }

    // Wait for the next commit.
    Request next() {
        while (commits.empty()) loop.run();
        auto request = std::move(commits.front());
        commits.erase(commits.begin());
        return request;
    }
    // Let what is posted and sent happen until `done`.
    template <class F> void run_until(F done) {
        Timer tick(loop, [&] { loop.stop(); });
        tick.start(1ms, 1ms);
        while (!done()) loop.run();
    }
};

Blobref some_blob() { return Blobref(HashKind::sha1, std::string(20, '\x11')); }
Json root(int sequence) { return Json::object("rootref", some_blob(), "rootseq", sequence); }
std::int64_t seq_of(const Request& request) { return request.json()["once"].get<std::int64_t>("seq"); }
std::size_t ops_of(const Request& request) { return request.json()["ops"].size(); }
kvs::Transaction put(std::string_view key) {
    kvs::Transaction txn;
    txn.put(key, "x");
    return txn;
}

} // namespace

TEST_CASE("kvs: transactions have the operations of RFC 11", "[kvs]") {
    kvs::Transaction txn;
    txn.put_json("a.b", Json(42)).append("log", "one").mkdir("d").unlink("old");
    txn.symlink("l", "a.b").symlink("n", "x", "other");
    CHECK(txn.size() == 6);
    CHECK(txn.to_json().dump_sorted() ==
          R"([{"dirent":{"data":"NDI=","type":"val","ver":1},"flags":0,"key":"a.b"},)"
          R"({"dirent":{"data":"b25l","type":"val","ver":1},"flags":32,"key":"log"},)"
          R"({"dirent":{"data":{},"type":"dir","ver":1},"flags":0,"key":"d"},)"
          R"({"dirent":null,"flags":0,"key":"old"},)"
          R"({"dirent":{"data":{"target":"a.b"},"type":"symlink","ver":1},"flags":0,"key":"l"},)"
          R"({"dirent":{"data":{"namespace":"other","target":"x"},"type":"symlink","ver":1},"flags":0,"key":"n"}])");
    CHECK_THROWS_AS(txn.put("", "x"), Error);
    CHECK_THROWS_AS(txn.put_treeobj("a", Json::object("ver", 1)), Error);
}

TEST_CASE("kvs: appends to one key are joined, in order", "[kvs]") {
    kvs::Transaction all, second, third;
    all.append("log", "1").append("other", "a");
    second.append("log", "2");
    third.unlink("log").append("log", "3").append("log", "4");
    all.join(second);
    CHECK(all.size() == 2);
    all.join(third);
    auto ops = all.to_json();
    REQUIRE(ops.size() == 4);
    CHECK(treeobj::value_of(ops[0]["dirent"]) == "12");
    CHECK(ops[2]["dirent"].is_null());
    CHECK(treeobj::value_of(ops[3]["dirent"]) == "34");
}

TEST_CASE("kvs: commit, lookup and watch", "[kvs]") {
    Service service;
    service.handle->serve(kvs_protocol::lookup, [](Request request) {
        auto payload = request.json();
        CHECK(payload.get<std::string>("namespace") == "primary");
        if (payload.get<std::string>("key") == "none") throw Error(ENOENT);
        request.respond(Json::object("val", treeobj::make_val("[1,2]")));
    });
    service.handle->serve(kvs_watch_protocol::lookup, [](Request request) {
        CHECK(request.json().get<int>("flags") ==
              (kvs_protocol::watch | kvs_protocol::watch_append | kvs_protocol::watch_initial_sentinel));
        request.respond(Json::object("val", treeobj::make_val("one")));
        request.respond();
        request.end();
    });
    struct Body {
        static Task<bool> run(Service* service) {
            auto& handle = *service->handle;
            auto txn = put("a");
            auto reply = kvs::commit(handle, txn, kvs::CommitOptions().flags(kvs_protocol::sync));
            auto value = co_await kvs::lookup(handle, "a");
            CHECK(value.json()[1].as<int>() == 2);
            service->next().respond(root(7));
            auto made = co_await reply;
            CHECK(made == kvs::Root(some_blob(), 7));
            kvs::Watch watch(handle, "log", kvs::WatchOptions().append().sentinel());
            auto first = co_await watch.next();
            CHECK(first->bytes() == "one");
            auto second = co_await watch.next();
            CHECK(second->sentinel());
            auto third = co_await watch.next();
            CHECK(!third);
            co_await kvs::lookup(handle, "none");
            co_return true;
        }
    };
    try {
        run_task<bool>(service.scope, &Body::run, &service);
        FAIL("the last lookup should have failed");
    } catch (const Error& error) {
        CHECK(error.errnum() == ENOENT);
    }
    CHECK(service.payloads[0].get<int>("flags") == kvs_protocol::sync);
    CHECK(!service.payloads[0].contains("once"));
}

TEST_CASE("kvs: a writer has one commit under way and gathers the next", "[kvs]") {
    Service service;
    kvs::Writer writer(*service.handle, kvs::WriterOptions().id("me"));
    int done = 0;
    auto count = [&](const Error* failure) {
        CHECK(!failure);
        ++done;
    };
    writer.add(put("a"), count);
    writer.add(put("b"), count);
    auto first = service.next();
    CHECK(ops_of(first) == 2);
    CHECK(seq_of(first) == 1);
    CHECK(first.json()["once"].get<std::string>("id") == "me");
    writer.add(put("c"), count);
    writer.add(put("d"), count);
    CHECK(done == 0);
    first.respond(root(1));
    auto second = service.next();
    CHECK(done == 2);
    CHECK(ops_of(second) == 2);
    CHECK(seq_of(second) == 2);
    second.respond(root(2));
    service.run_until([&] { return writer.idle(); });
    CHECK(done == 4);
    CHECK(writer.bytes() == 0);
}

TEST_CASE("kvs: a writer repeats what may be lost and splits what is refused", "[kvs]") {
    Service service;
    kvs::Writer writer(*service.handle);
    std::string log;
    auto note = [&](const char* name) {
        return [&log, name](const Error* failure) { log += name + std::string(failure ? "! " : " "); };
    };
    writer.add(put("a"), note("a"));
    writer.add(put("b"), note("b"));
    service.next().fail(EHOSTUNREACH);
    auto again = service.next();
    CHECK(seq_of(again) == 1);
    CHECK(ops_of(again) == 2);
    again.fail(EINVAL);
    auto a = service.next();
    CHECK(seq_of(a) == 1);
    CHECK(ops_of(a) == 1);
    a.fail(EINVAL);
    auto b = service.next();
    CHECK(seq_of(b) == 1);
    b.respond(root(1));
    service.run_until([&] { return writer.idle(); });
    CHECK(log == "a! b ");
}

TEST_CASE("kvs: a writer goes on over another connection", "[kvs]") {
    Service service;
    kvs::Writer writer(*service.handle);
    bool made = false;
    writer.add(put("a"), [&](const Error* failure) { made = !failure; });
    auto lost = service.next();
    lost.fail(ECONNRESET);
    writer.attach(*service.handle);
    auto again = service.next();
    CHECK(seq_of(again) == 1);
    again.respond(root(1));
    service.run_until([&] { return made; });
}
