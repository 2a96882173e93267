#include <flux/task.hpp>

#include <catch2/catch.hpp>

#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace flux;
using namespace std::chrono_literals;

namespace {

Task<int> answer(int value) { co_return value; }
Task<int> deep(int depth) {
    if (depth == 0) co_return 0;
    co_return 1 + co_await deep(depth - 1);
}
Task<int> many(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await answer(1);
    co_return sum;
}
Task<int> throws() {
    throw Error(ENOENT, "gone");
    co_return 0;
}
Task<int> catches() {
    int errnum = 0;
    try {
        co_await throws();
    } catch (const Error& error) {
        errnum = error.errnum();
    }
    co_await sleep_for(1ms);
    co_return errnum;
}
Task<> wait_on(Condition* condition, int* count) {
    co_await condition->wait();
    ++*count;
}
Task<> forever(int* cancelled) {
    try {
        co_await sleep_for(1h);
    } catch (const Cancelled&) {
        ++*cancelled;
        throw;
    }
}

} // namespace

TEST_CASE("task: results, exceptions, depth", "[task]") {
    Loop loop;
    Scope scope(loop);
    CHECK(run_task<int>(scope, &answer, 7) == 7);
    CHECK(run_task<int>(scope, &deep, 1000) == 1000);
    CHECK(run_task<int>(scope, &many, 1000000) == 1000000); // no stack growth
    CHECK_THROWS_WITH(run_task<int>(scope, &throws), "gone");
    CHECK(run_task<int>(scope, &catches) == ENOENT);
    CHECK(loop.close().empty());
}

TEST_CASE("task: a wait that nothing can end is an error, not a spin", "[task]") {
    Loop loop;
    Scope scope(loop);
    Condition never;
    struct Body {
        static Task<int> run(Condition* condition) {
            co_await condition->wait();
            co_return 1;
        }
    };
    CHECK_THROWS_AS(run_task<int>(scope, &Body::run, &never), Error);
    CHECK(scope.count() == 0);
}

TEST_CASE("task: a scope aborts and waits for what it owns", "[task]") {
    Loop loop;
    Scope outer(loop);
    int cancelled = 0;
    {
        Scope inner(outer);
        inner.spawn("one", &forever, &cancelled);
        inner.spawn("two", &forever, &cancelled);
        CHECK(inner.count() == 2);
        struct Close {
            static Task<int> run(Scope* scope) {
                co_await scope->close();
                co_return 1;
            }
        };
        run_task<int>(outer, &Close::run, &inner);
        CHECK(cancelled == 2);
        inner.spawn("late", &forever, &cancelled); // an aborted scope starts nothing
        CHECK(inner.count() == 0);
    }
    CHECK(outer.count() == 0);
    CHECK(loop.close().empty());
}

TEST_CASE("task: abort reaches the scopes below", "[task]") {
    Loop loop;
    Scope outer(loop);
    Scope inner(outer);
    int cancelled = 0;
    inner.spawn("one", &forever, &cancelled);
    outer.abort();
    loop.run();
    CHECK(cancelled == 1);
}

TEST_CASE("task: conditions wake all and only once", "[task]") {
    Loop loop;
    Scope scope(loop);
    Condition condition;
    int count = 0;
    for (int i = 0; i < 3; ++i) scope.spawn("wait", &wait_on, &condition, &count);
    condition.notify_all();
    CHECK(count == 0); // posted, not run in place
    loop.run();
    CHECK(count == 3);
}

TEST_CASE("task: failures are reported by name", "[task]") {
    Loop loop;
    std::string seen;
    Scope scope(loop,
                [&](const char* name, const std::exception& error) { seen = std::string(name) + ": " + error.what(); });
    struct Fail {
        static Task<> run() { co_await throws(); }
    };
    scope.spawn("worker", &Fail::run);
    CHECK(seen == "worker: gone");
}

TEST_CASE("loop: timers, descriptors and what is left open", "[loop]") {
    Loop loop;
    std::string order;
    Timer late(loop, [&] { order += "2"; });
    Timer early(loop, [&] { order += "1"; });
    late.start(5ms);
    early.start(1ms);
    int fd = ::eventfd(0, EFD_NONBLOCK);
    {
        std::unique_ptr<FdWatcher> watcher;
        watcher = std::make_unique<FdWatcher>(loop, fd, [&](int) {
            order += "e";
            watcher.reset(); // destroys itself while it runs
        });
        watcher->watch(FdWatcher::readable);
        ::eventfd_write(fd, 1);
        loop.run();
        CHECK(order.find('e') != std::string::npos); // when it comes between the timers is the machine's affair
        std::erase(order, 'e');
        CHECK(order == "12");
    }
    ::close(fd);
    {
        auto other = std::make_unique<Loop>();
        auto* timer = new Timer(*other, [] {});
        CHECK(other->close() == "timer");
        delete timer;
        CHECK(other->close().empty());
    }
}
