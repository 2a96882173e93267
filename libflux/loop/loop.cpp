// The loop and its handles. A uv handle lives on the heap and is deleted in its close callback.
#include <flux/error.hpp>
#include <flux/loop.hpp>

#include <uv.h>

#include <cassert>
#include <cerrno>
#include <string>
#include <vector>

namespace flux {
namespace {

void check_uv(int rc, const char* what) {
    if (rc < 0) throw Error(-rc, what);
}

std::uint64_t to_ms(std::chrono::nanoseconds time) {
    if (time.count() <= 0) return 0;
    return static_cast<std::uint64_t>((time.count() + 999'999) / 1'000'000);
}

template <class State> void close_and_delete(State* state) noexcept {
    uv_close(reinterpret_cast<uv_handle_t*>(&state->handle),
             [](uv_handle_t* handle) noexcept { delete static_cast<State*>(handle->data); });
}

} // namespace

struct Loop::State {
    uv_loop_t loop;
    uv_idle_t idle;
    std::vector<std::function<void()>> work;
    std::vector<std::coroutine_handle<>> coroutines;
    bool running_ready = false;
    bool idle_started = false;
    bool closed = false;
};

Loop::Loop() : state_(std::make_unique<State>()) {
    check_uv(uv_loop_init(&state_->loop), "loop");
    state_->loop.data = this;
    uv_idle_init(&state_->loop, &state_->idle);
    state_->idle.data = this;
}

Loop::~Loop() {
    if (!state_->closed) close();
}

uv_loop_s* Loop::raw() noexcept { return &state_->loop; }
void Loop::run() {
    run_ready();
    uv_run(&state_->loop, UV_RUN_DEFAULT);
}
bool Loop::alive() const noexcept {
    return uv_loop_alive(&state_->loop) || !state_->work.empty() || !state_->coroutines.empty();
}
void Loop::stop() noexcept { uv_stop(&state_->loop); }

std::string Loop::close() {
    run_ready();
    if (!uv_is_closing(reinterpret_cast<uv_handle_t*>(&state_->idle)))
        uv_close(reinterpret_cast<uv_handle_t*>(&state_->idle), nullptr);
    // Close callbacks run in the turn after; two turns settle what closing itself closed.
    for (int turn = 0; turn < 3; ++turn) uv_run(&state_->loop, UV_RUN_NOWAIT);
    if (uv_loop_close(&state_->loop) == 0) {
        state_->closed = true;
        return {};
    }
    std::string names;
    uv_walk(
        &state_->loop,
        [](uv_handle_t* handle, void* into) {
            auto& text = *static_cast<std::string*>(into);
            if (!text.empty()) text += ", ";
            const char* name = uv_handle_type_name(uv_handle_get_type(handle));
            text += name ? name : "unknown";
        },
        &names);
    return names.empty() ? "pending requests" : names;
}

void Loop::post(std::function<void()> work) {
    state_->work.push_back(std::move(work));
    if (!state_->idle_started && !uv_is_closing(reinterpret_cast<uv_handle_t*>(&state_->idle))) {
        state_->idle_started = true;
        uv_idle_start(&state_->idle, [](uv_idle_t* idle) noexcept { static_cast<Loop*>(idle->data)->run_ready(); });
    }
}

void Loop::post(std::coroutine_handle<> coroutine) {
    state_->coroutines.push_back(coroutine);
    if (!state_->idle_started && !uv_is_closing(reinterpret_cast<uv_handle_t*>(&state_->idle))) {
        state_->idle_started = true;
        uv_idle_start(&state_->idle, [](uv_idle_t* idle) noexcept { static_cast<Loop*>(idle->data)->run_ready(); });
    }
}

void Loop::run_ready() noexcept {
    auto& state = *state_;
    if (state.running_ready) return;
    state.running_ready = true;
    // What the work posts in turn runs in the same call, up to a bound that keeps I/O from starving.
    for (int round = 0; round < 64 && !(state.work.empty() && state.coroutines.empty()); ++round) {
        auto coroutines = std::exchange(state.coroutines, {});
        for (auto coroutine : coroutines) coroutine.resume();
        auto work = std::exchange(state.work, {});
        for (auto& item : work) item();
    }
    if (state.idle_started && state.work.empty() && state.coroutines.empty()) {
        state.idle_started = false;
        uv_idle_stop(&state.idle);
    }
    state.running_ready = false;
}

// Timer ---------------------------------------------------------------------------------------------------------

struct Timer::State {
    uv_timer_t handle;
    std::shared_ptr<std::function<void()>> callback;
};

Timer::Timer(Loop& loop, std::function<void()> on_fire) : state_(new State) {
    state_->callback = std::make_shared<std::function<void()>>(std::move(on_fire));
    state_->handle.data = state_;
    uv_timer_init(loop.raw(), &state_->handle);
}

Timer::~Timer() { close_and_delete(state_); }

void Timer::start(std::chrono::nanoseconds delay, std::chrono::nanoseconds repeat) {
    // The loop's idea of now may be old when much was done in this turn; a timer must not fire early for that.
    uv_update_time(state_->handle.loop);
    uv_timer_start(
        &state_->handle,
        [](uv_timer_t* handle) noexcept {
            auto* state = static_cast<State*>(handle->data);
            auto& loop = *static_cast<Loop*>(handle->loop->data);
            auto callback = state->callback; // the call may destroy this timer
            (*callback)();
            loop.run_ready();
        },
        to_ms(delay), to_ms(repeat));
}

void Timer::stop() noexcept { uv_timer_stop(&state_->handle); }
bool Timer::active() const noexcept { return uv_is_active(reinterpret_cast<uv_handle_t*>(&state_->handle)); }
void Timer::unref() noexcept { uv_unref(reinterpret_cast<uv_handle_t*>(&state_->handle)); }

// FdWatcher -----------------------------------------------------------------------------------------------------

struct FdWatcher::State {
    uv_poll_t handle;
    std::shared_ptr<std::function<void(int)>> callback;
    int directions = 0;
    void poll() noexcept;
};

FdWatcher::FdWatcher(Loop& loop, int fd, std::function<void(int)> on_ready) : state_(new State) {
    state_->callback = std::make_shared<std::function<void(int)>>(std::move(on_ready));
    state_->handle.data = state_;
    if (int rc = uv_poll_init(loop.raw(), &state_->handle, fd); rc < 0) {
        delete state_;
        throw Error(-rc, "cannot watch descriptor " + std::to_string(fd));
    }
}

FdWatcher::~FdWatcher() {
    uv_poll_stop(&state_->handle);
    close_and_delete(state_);
}

void FdWatcher::watch(int directions) noexcept {
    if (directions == state_->directions) return;
    state_->directions = directions;
    if (directions == 0) {
        uv_poll_stop(&state_->handle);
        return;
    }
    state_->poll();
}

void FdWatcher::State::poll() noexcept {
    int events = (directions & readable ? UV_READABLE : 0) | (directions & writable ? UV_WRITABLE : 0);
    uv_poll_start(&handle, events, [](uv_poll_t* handle, int status, int events) noexcept {
        auto* state = static_cast<State*>(handle->data);
        auto& loop = *static_cast<Loop*>(handle->loop->data);
        int ready = (events & UV_READABLE ? readable : 0) | (events & UV_WRITABLE ? writable : 0);
        if (status < 0) {
            // libuv stops at an error, behind which there may be more to read than one callback takes.
            ready = state->directions;
            state->poll();
        }
        auto callback = state->callback; // the call may destroy this watcher
        (*callback)(ready);
        loop.run_ready();
    });
}

// SignalWatcher -------------------------------------------------------------------------------------------------

struct SignalWatcher::State {
    uv_signal_t handle;
    std::shared_ptr<std::function<void(int)>> callback;
};

SignalWatcher::SignalWatcher(Loop& loop, int signum, std::function<void(int)> on_signal) : state_(new State) {
    state_->callback = std::make_shared<std::function<void(int)>>(std::move(on_signal));
    state_->handle.data = state_;
    uv_signal_init(loop.raw(), &state_->handle);
    int rc = uv_signal_start(
        &state_->handle,
        [](uv_signal_t* handle, int signum) noexcept {
            auto* state = static_cast<State*>(handle->data);
            auto& loop = *static_cast<Loop*>(handle->loop->data);
            auto callback = state->callback;
            (*callback)(signum);
            loop.run_ready();
        },
        signum);
    uv_unref(reinterpret_cast<uv_handle_t*>(&state_->handle));
    if (rc < 0) {
        close_and_delete(state_);
        throw Error(-rc, "cannot watch signal " + std::to_string(signum));
    }
}

SignalWatcher::~SignalWatcher() { close_and_delete(state_); }

} // namespace flux
