#include "cmd/context.hpp"

namespace flux::cmd {

Context::Context() : scope_(loop_) {}
Context::~Context() {
    scope_.abort();
    loop_.run_ready();
    handle_.reset();
}

Handle& Context::handle() {
    if (!handle_) handle_ = Handle::open(loop_);
    return *handle_;
}

} // namespace flux::cmd
