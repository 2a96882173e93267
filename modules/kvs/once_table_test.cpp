#include "once_table.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using namespace flux;
using namespace flux::kvs_store;
using Verdict = OnceTable::Verdict;

namespace {

// Requests of a handle that talks to itself; the answers come back as text.
struct Fixture {
    Loop loop;
    std::unique_ptr<Handle> handle = Handle::open(loop, "loop://");
    std::vector<Request> received;
    std::vector<std::string> answers;
    OnceTable table;

    Fixture() {
        handle->serve(Method("t.commit", MethodClass::once), [this](Request request) { received.push_back(request); });
    }
    ~Fixture() { received.clear(); }

    Request request() {
        auto number = answers.size();
        answers.emplace_back();
        handle->call("t.commit").then([this, number](Message response) {
            answers[number] = response.errnum() ? "failed" : response.json().dump();
        });
        settle();
        return received.back();
    }
    void settle() {
        Timer timer(loop, [this] { loop.stop(); });
        timer.start(std::chrono::milliseconds(1));
        loop.run();
    }
    int refusal(std::int64_t seq) {
        auto again = request();
        try {
            table.begin(again, "w", seq);
        } catch (const Error& error) {
            again.fail(error);
            return error.errnum();
        }
        return 0;
    }
};

} // namespace

TEST_CASE("once: the first number of a writer may be any, the next must follow", "[kvs]") {
    Fixture f;
    auto first = f.request();
    CHECK(f.table.begin(first, "w", 5) == Verdict::unknown);
    f.table.learn("w", std::nullopt, Json());
    CHECK(f.table.begin(first, "w", 5) == Verdict::apply);
    CHECK(f.refusal(6) == EINVAL); // while the first is under way
    f.table.finish("w", 5, Json::object("n", 5));
    CHECK(f.refusal(4) == EINVAL);
    CHECK(f.refusal(7) == EINVAL);
    CHECK(f.table.begin(f.request(), "w", 6) == Verdict::apply);
    f.table.fail("w", Error(ENOSPC));
    CHECK(f.table.begin(f.request(), "w", 6) == Verdict::apply); // a failure uses no number up
}

TEST_CASE("once: repeats are answered with the first answer", "[kvs]") {
    Fixture f;
    f.table.learn("w", 3, Json::object("n", 3));
    CHECK(f.table.begin(f.request(), "w", 3) == Verdict::answered);
    f.settle();
    CHECK(f.answers[0] == R"({"n":3})");
    auto next = f.request();
    CHECK(f.table.begin(next, "w", 4) == Verdict::apply);
    CHECK(f.table.begin(f.request(), "w", 4) == Verdict::answered); // with the one under way
    f.settle();
    CHECK(f.answers[2] == "");
    f.table.finish("w", 4, Json::object("n", 4));
    f.settle();
    CHECK(f.answers[2] == R"({"n":4})");
}
