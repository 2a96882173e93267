// `co_await PoolWork([&] { ... })`: run blocking work in the loop's thread pool and go on here when it is done. What it
// throws is rethrown. Not subject to abort: the work cannot be taken back.
#pragma once

#include <flux/task.hpp>

#include <exception>
#include <functional>
#include <memory>

namespace flux::broker {

class PoolWork {
public:
    explicit PoolWork(std::function<void()> work);
    ~PoolWork();
    bool await_ready() const noexcept { return false; }
    template <class P> void await_suspend(std::coroutine_handle<P> coroutine) {
        start(coroutine.promise().scope->loop(), coroutine);
    }
    void await_resume() const;

private:
    void start(Loop& loop, std::coroutine_handle<> coroutine);
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace flux::broker
