#include "broker/state/state_machine.hpp"

#include <flux/duration.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::broker {

const char* to_string(State state) noexcept {
    constexpr const char* names[] = {"load-builtins", "join",     "config-sync", "init",    "quorum",          "run",
                                     "cleanup",       "shutdown", "finalize",    "goodbye", "unload-builtins", "exit"};
    return names[static_cast<int>(state)];
}

void StateMachine::enter(State next, const char* event) {
    auto now = std::chrono::steady_clock::now();
    auto seconds = std::chrono::duration<double>(now - since_).count();
    log(LogLevel::info,
        fmt::format("{}: {}->{} {}", event, to_string(state_), to_string(next), format_duration(seconds)));
    state_ = next;
    since_ = now;
    auto number = static_cast<int>(next);
    monitors_.remove_if([&](auto& entry) {
        if (number <= entry.data) entry.request.respond(Json::object("state", number));
        if (number >= entry.data) entry.request.end();
        return number >= entry.data;
    });
    answer_waiters();
    changed.notify_all();
}

void StateMachine::answer_waiters() {
    if (state_ < State::run) return;
    waiters_.remove_if([&](auto& entry) {
        if (state_ == State::run)
            entry.request.respond();
        else
            entry.request.fail(ENOENT, "broker has surpassed RUN state");
        return true;
    });
}

void StateMachine::serve(Handle& handle) {
    handle.serve(Method("state-machine.get", MethodClass::read, role_user), [this](Request request) {
        auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
        request.respond(Json::object("state", to_string(state_), "duration", seconds));
    });
    handle.serve(Method("state-machine.wait", MethodClass::read, role_user), [this](Request request) {
        waiters_.add(request);
        answer_waiters();
    });
    handle.serve(Method("state-machine.monitor", MethodClass::stream), [this](Request request) {
        auto last = request.json_or_none().get_or("final", static_cast<int>(State::exit));
        auto number = static_cast<int>(state_);
        if (!request.streaming()) return request.respond(Json::object("state", number));
        if (number > last) return request.end();
        request.respond(Json::object("state", number));
        if (number == last)
            request.end();
        else
            monitors_.add(request, last);
    });
    handle.serve(Method("state-machine.sd-notify", MethodClass::once), [](Request request) { request.respond(); });
    handle.serve(Method("state-machine.disconnect", MethodClass::once), [this](Request request) {
        monitors_.disconnect(request);
        waiters_.disconnect(request);
    });
}

} // namespace flux::broker
