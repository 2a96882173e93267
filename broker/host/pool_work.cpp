#include "broker/host/pool_work.hpp"

#include <uv.h>

namespace flux::broker {

struct PoolWork::State {
    uv_work_t request;
    std::function<void()> work;
    std::exception_ptr failure;
    std::coroutine_handle<> coroutine;
};

PoolWork::PoolWork(std::function<void()> work) : state_(std::make_unique<State>()) { state_->work = std::move(work); }
PoolWork::~PoolWork() = default;

void PoolWork::start(Loop& loop, std::coroutine_handle<> coroutine) {
    state_->coroutine = coroutine;
    state_->request.data = state_.get();
    uv_queue_work(
        loop.raw(), &state_->request,
        [](uv_work_t* request) noexcept {
            auto* state = static_cast<State*>(request->data);
            try {
                state->work();
            } catch (...) {
                state->failure = std::current_exception();
            }
        },
        [](uv_work_t* request, int) noexcept {
            auto& loop = *static_cast<Loop*>(request->loop->data);
            loop.post(static_cast<State*>(request->data)->coroutine);
            loop.run_ready();
        });
}

void PoolWork::await_resume() const {
    if (state_->failure) std::rethrow_exception(state_->failure);
}

} // namespace flux::broker
