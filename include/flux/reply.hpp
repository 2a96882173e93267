// An RPC with a typed result, for client APIs.
#pragma once

#include <flux/handle.hpp>

#include <utility>

namespace flux {

/// An RPC under way: it was sent when this was made. Await it for the result.
template <class T> class [[nodiscard]] Reply {
public:
    /// Reads the result out of a successful response; may throw.
    using Decode = T (*)(Message);
    Reply(Call call, Decode decode) noexcept : call_(std::move(call)), decode_(decode) {}

    class Awaiter {
    public:
        explicit Awaiter(const Reply& reply) : call_(reply.call_.operator co_await()), decode_(reply.decode_) {}
        bool await_ready() const noexcept { return call_.await_ready(); }
        template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
            return call_.await_suspend(coroutine);
        }
        T await_resume() { return decode_(call_.await_resume()); }

    private:
        Call::Awaiter call_;
        Decode decode_;
    };
    /// \return the result. \throws Error of a failed response; Cancelled when the awaiting scope is aborted.
    Awaiter operator co_await() const { return Awaiter(*this); }

private:
    Call call_;
    Decode decode_;
};

} // namespace flux
