// The broker's twelve states, who watches them, and how long each took (broker.md 3.10, 6.2).
#pragma once

#include <flux/handle.hpp>

#include <chrono>
#include <functional>

namespace flux::broker {

enum class State {
    load_builtins,
    join,
    config_sync,
    init,
    quorum,
    run,
    cleanup,
    shutdown,
    finalize,
    goodbye,
    unload_builtins,
    exit
};
const char* to_string(State state) noexcept;

class StateMachine {
public:
    State state() const noexcept { return state_; }
    /// Enter the next state because of `event`: tells monitors and logs the transition.
    void enter(State next, const char* event);
    void serve(Handle& handle);
    std::function<void(LogLevel, const std::string&)> log;
    Condition changed;

private:
    void answer_waiters();
    State state_ = State::load_builtins;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    RequestList<int> monitors_; ///< with their final state
    RequestList<int> waiters_;
};

} // namespace flux::broker
