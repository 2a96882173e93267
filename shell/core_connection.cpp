// The connection to the broker. When it is lost the tasks go on and what they write waits, within bounds; the shell
// tries to connect again as long as the instance is there.
#include "backoff.hpp"
#include "core.hpp"

#include <flux/shell_protocol.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace flux::shell {

namespace {

/// Errors that say nothing about what was asked: it may be asked again.
bool transient(int errnum) { return errnum == ECONNRESET || errnum == EHOSTUNREACH || errnum == EAGAIN; }

} // namespace

// A new connection: tell when it is lost.
void Core::connected() {
    if (standalone()) return;
    handle_->on_closed([this](const Error&) {
        online_ = false;
        root_.spawn("reconnect", &Core::reconnect, this);
    });
}

Task<> Core::reconnect(Core* self) {
    for (Backoff backoff; !self->online_;) {
        co_await backoff.pause();
        if (self->instance_gone()) {
            self->kill_tasks(SIGTERM);
            self->quit(1);
            co_return;
        }
        try {
            co_await self->connect_again();
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            self->log(Level::trace, {}, std::string("cannot reconnect yet: ") + error.what());
        }
    }
}

Task<> Core::connect_again() {
    rexec_.reset(); // its clients are lost, and with them the processes
    auto before = std::exchange(handle_, Handle::open(loop_));
    for (const auto& [topic, handler] : served_) handle_->serve(Method(topic, MethodClass::once, role_user), handler);
    journal_.attach(*handle_);
    before.reset();
    offer_rexec();
    co_await handle_->call("service.add", Json::object("service", job_.service));
    online_ = true;
    connected();
    changed_.notify_all();
    each_plugin("reconnect", [](Plugin& plugin) { plugin.reconnect(); });
}

// Its run directory goes when an instance ends.
bool Core::instance_gone() const {
    auto rundir = attribute("rundir");
    return rundir && ::access(rundir->c_str(), F_OK) < 0;
}

/// Ask the broker until there is an answer. \throws Error of an answer that says something.
Task<Message> Core::ask(std::string topic, Payload payload, CallOptions options) {
    for (Backoff backoff;;) {
        while (!online_) co_await changed_.wait();
        try {
            auto reply = co_await handle_->call(topic, payload, options);
            co_return reply;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (!transient(error.errnum())) throw;
        }
        co_await backoff.pause();
    }
}

Task<> Core::send_exception(Core* self, Payload payload) {
    try {
        co_await self->ask("job-manager.raise", payload, CallOptions());
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        auto text = std::string("cannot raise an exception: ") + error.what();
        self->log_to_stderr(LogRecord{Level::error, "shell", text, static_cast<int>(self->job_.rank)});
    }
    self->raising_ = false;
    self->changed_.notify_all();
}

Task<> Core::deliver(unsigned rank, Payload payload) {
    CallOptions options;
    options.rank(job_.ranks[rank].broker_rank);
    co_await ask(job_.service + '.' + std::string(shell_protocol::link), payload, options);
}

void Core::link_error(unsigned rank, const Error& error) {
    if (leader() && !incomplete_shells_.test(rank)) return; // it has left, and needs nothing any more
    log(Level::error, {}, "message exchange with shell " + std::to_string(rank) + ": " + error.what());
}

void Core::link_busy(bool busy) {
    if (busy)
        add_hold();
    else
        unhold();
}

} // namespace flux::shell
