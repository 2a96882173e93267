#include "cmd/context.hpp"

#include <flux/overlay_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <chrono>

namespace flux::cmd {
namespace {

// A command that takes longer says why, when it knows.
constexpr auto patience = std::chrono::seconds(1);

} // namespace

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

Context::Context(std::string program) : program_(std::move(program)), scope_(loop_) {}
Context::~Context() {
    scope_.abort();
    loop_.run_ready();
    handle_.reset();
}

Handle& Context::handle() {
    if (handle_) return *handle_;
    try {
        handle_ = open_broker(loop_);
        scope_.spawn("tell of hold", &Context::tell_of_hold, this);
    } catch (const Unreachable& error) {
        unreachable_ = error;
        throw;
    }
    return *handle_;
}

// While the way to the leader is held what the command has asked may wait for long.
Task<> Context::tell_of_hold(Context* context) {
    co_await sleep_for(patience);
    try {
        auto path = context->handle_->stream(overlay_protocol::path.topic);
        bool told = false;
        while (auto update = co_await path.next()) {
            auto state = update->json();
            bool held = state.get<std::string_view>("state") == "held";
            if (held)
                fmt::print(stderr, "{}: waiting for {} (rank {}): {}\n", context->program_,
                           state.get<std::string_view>("host"), state.get<std::uint32_t>("rank"),
                           state.get<std::string_view>("reason"));
            else if (told)
                fmt::print(stderr, "{}: going on\n", context->program_);
            told = held;
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        // A broker that does not tell, or one that is gone, as the command will find out.
    }
}

} // namespace flux::cmd
