#include "cmd/context.hpp"

#include <cerrno>

namespace flux::cmd {

std::string Unreachable::plain_text() const {
    return "flux_open: " + (errnum() == ENOENT ? errno_text(ENOENT) : std::string(what()));
}

std::unique_ptr<Handle> open_broker(Loop& loop) {
    try {
        return Handle::open(loop);
    } catch (const Error& error) {
        throw Unreachable(error);
    }
}

Context::Context() : scope_(loop_) {}
Context::~Context() {
    scope_.abort();
    loop_.run_ready();
    handle_.reset();
}

Handle& Context::handle() {
    try {
        if (!handle_) handle_ = open_broker(loop_);
    } catch (const Unreachable& error) {
        unreachable_ = error;
        throw;
    }
    return *handle_;
}

} // namespace flux::cmd
