// What every command gets: a loop, the connection to the broker (opened when first used), and where output goes.
#pragma once

#include <flux/handle.hpp>

#include <memory>
#include <string>

namespace flux::cmd {

class Context {
public:
    Context();
    ~Context();

    Loop& loop() noexcept { return loop_; }
    Scope& scope() noexcept { return scope_; }
    /// The broker of FLUX_URI. \throws Error as Handle::open()
    Handle& handle();
    /// Run a coroutine function to its end and return its result.
    template <class Function, class... Arguments> int run(Function function, Arguments... arguments) {
        return run_task<int>(scope_, std::move(function), std::move(arguments)...);
    }

private:
    Loop loop_;
    Scope scope_;
    std::unique_ptr<Handle> handle_;
};

} // namespace flux::cmd
