// One event loop: a libuv loop with a queue of work that is ready to run. One thread owns it and everything on it.
#pragma once

#include <chrono>
#include <coroutine>
#include <functional>
#include <memory>

struct uv_loop_s;

namespace flux {

class Loop {
public:
    Loop();
    /// Closes the loop. Handles still open are a bug of their owner: see close().
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    uv_loop_s* raw() noexcept;

    /// Run until stop() or until nothing is left to wait for.
    void run();
    /// False when nothing is left that could ever wake anybody.
    bool alive() const noexcept;
    /// Make run() return after the current turn.
    void stop() noexcept;
    /// Run until no handle is left, then close. Returns the names of handles that a turn of the loop could not get rid
    /// of (empty: the loop is closed for good, no code of its users can run any more).
    std::string close();

    /// Run `work` on this loop after the current callback. Only from the loop's thread.
    void post(std::function<void()> work);
    /// Resume a coroutine after the current callback. Only from the loop's thread.
    void post(std::coroutine_handle<> coroutine);
    /// Run what was posted; C callbacks call this as their last statement so that what they woke runs without another
    /// turn of the loop. Does nothing when already running.
    void run_ready() noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A one-shot or repeating timer, closed by its destructor.
class Timer {
public:
    Timer(Loop& loop, std::function<void()> on_fire);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// (Re)arm: first after `delay`, then every `repeat` (0: once).
    void start(std::chrono::nanoseconds delay, std::chrono::nanoseconds repeat = {});
    void stop() noexcept;
    bool active() const noexcept;
    /// A timer that does not keep run() from returning.
    void unref() noexcept;

private:
    struct State;
    State* state_;
};

/// Calls back while a file descriptor is ready. Does not own the descriptor; closed by its destructor.
class FdWatcher {
public:
    static constexpr int readable = 1;
    static constexpr int writable = 2;

    /// \param on_ready  called with the ready directions; errors and hang-ups show up as readable.
    FdWatcher(Loop& loop, int fd, std::function<void(int)> on_ready);
    ~FdWatcher();
    FdWatcher(const FdWatcher&) = delete;
    FdWatcher& operator=(const FdWatcher&) = delete;

    /// Watch for these directions; 0 stops.
    void watch(int directions) noexcept;

private:
    struct State;
    State* state_;
};

/// Calls back on a signal of the process; closed by its destructor.
class SignalWatcher {
public:
    SignalWatcher(Loop& loop, int signum, std::function<void(int)> on_signal);
    ~SignalWatcher();
    SignalWatcher(const SignalWatcher&) = delete;
    SignalWatcher& operator=(const SignalWatcher&) = delete;

private:
    struct State;
    State* state_;
};

} // namespace flux
