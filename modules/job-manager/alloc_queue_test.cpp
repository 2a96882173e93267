#include "alloc_queue.hpp"

#include <catch2/catch.hpp>

using namespace flux;
using namespace flux::job_manager;

namespace {

// The orders as text: `+` request, `-` cancel, `~` prioritize.
std::string orders(AllocQueue& queue) {
    auto orders = queue.take_orders();
    std::string text;
    for (auto id : orders.request) text += "+" + id.dec();
    for (auto id : orders.cancel) text += "-" + id.dec();
    for (auto [id, priority] : orders.prioritize) text += "~" + id.dec() + "=" + std::to_string(priority);
    return text;
}

} // namespace

TEST_CASE("alloc queue: nothing is sent before the scheduler is ready", "[job-manager]") {
    AllocQueue q;
    q.want(JobId(2), 16);
    q.want(JobId(1), 16);
    q.want(JobId(3), 20);
    CHECK(orders(q).empty());
    CHECK(q.waiting() == 3);
    q.open({});
    CHECK(orders(q) == "+3+1+2");
    CHECK(q.outstanding() == 3);
    CHECK(orders(q).empty());
    q.want(JobId(1), 16);
    CHECK(orders(q).empty());
}

TEST_CASE("alloc queue: a limit is kept in the order of the queue", "[job-manager]") {
    AllocQueue q;
    q.open(2);
    for (auto id : {1, 2, 3}) q.want(JobId(id), 16);
    CHECK(orders(q) == "+1+2");
    CHECK(q.answered(JobId(1)));
    CHECK(orders(q) == "+3");
    CHECK_FALSE(q.answered(JobId(1)));

    // A better job displaces the worst request, once.
    q.want(JobId(4), 20);
    CHECK(orders(q) == "-3");
    CHECK(orders(q).empty());
    q.cancelled(JobId(3));
    CHECK(orders(q) == "+4");
    CHECK(q.waiting() == 1);
    // The answer may also be a success that was under way.
    q.want(JobId(5), 30);
    CHECK(orders(q) == "-2");
    CHECK(q.answered(JobId(2)));
    CHECK(orders(q) == "+5");
}

TEST_CASE("alloc queue: requests are taken back and come again", "[job-manager]") {
    AllocQueue q;
    q.open({});
    q.want(JobId(1), 16);
    q.want(JobId(2), 16);
    CHECK(orders(q) == "+1+2");
    q.unwant(JobId(1));
    CHECK(orders(q) == "-1");
    CHECK_FALSE(q.wanted(JobId(1)));
    q.want(JobId(1), 9);
    CHECK(orders(q).empty()); // first the answer
    q.cancelled(JobId(1));
    CHECK(orders(q) == "+1");
    q.unwant(JobId(1));
    CHECK(orders(q) == "-1");
    q.cancelled(JobId(1));
    CHECK(orders(q).empty());
    CHECK(q.outstanding() == 1);
    // Waiting ones just leave.
    q.close();
    q.unwant(JobId(2));
    q.open({});
    CHECK(orders(q).empty());
}

TEST_CASE("alloc queue: a new scheduler gets everything again", "[job-manager]") {
    AllocQueue q;
    q.open(1);
    q.want(JobId(1), 16);
    q.want(JobId(2), 16);
    CHECK(orders(q) == "+1");
    q.want(JobId(1), 30);
    CHECK(orders(q) == "~1=30");
    q.unwant(JobId(1));
    q.close();
    CHECK_FALSE(q.is_open());
    CHECK(orders(q).empty());
    q.open({});
    CHECK(orders(q) == "+2");
}
