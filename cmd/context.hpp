// What every command gets: a loop, the connection to the broker (opened when first used), and where output goes.
#pragma once

#include <flux/error.hpp>
#include <flux/handle.hpp>

#include <memory>
#include <optional>
#include <string>

namespace flux::cmd {

/// There is no way to the broker. The families of commands word this differently (cli.md 1.1).
class Unreachable final : public Error {
public:
    explicit Unreachable(const Error& error) : Error(error.errnum(), error.what()) {}
    /// As commands of the plain family say it.
    std::string plain_text() const;
};

/// The broker of FLUX_URI. \throws Unreachable
std::unique_ptr<Handle> open_broker(Loop& loop);

class Context {
public:
    /// \param program  what is run, for what is printed while it waits.
    explicit Context(std::string program);
    ~Context();

    Loop& loop() noexcept { return loop_; }
    Scope& scope() noexcept { return scope_; }
    /// The broker of FLUX_URI. \throws Unreachable
    Handle& handle();
    /// Set when handle() has failed, whatever a command has made of the exception since.
    const std::optional<Unreachable>& unreachable() const noexcept { return unreachable_; }
    /// Run a coroutine function to its end and return its result.
    template <class Function, class... Arguments> int run(Function function, Arguments... arguments) {
        return run_task<int>(scope_, std::move(function), std::move(arguments)...);
    }

private:
    static Task<> tell_of_hold(Context* context);

    std::string program_;
    Loop loop_;
    Scope scope_;
    std::unique_ptr<Handle> handle_;
    std::optional<Unreachable> unreachable_;
};

} // namespace flux::cmd
