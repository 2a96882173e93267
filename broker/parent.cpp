// A broker and its parent: joining it, following its state, holding on while it is away.
#include "broker/broker.hpp"

#include <flux/byte_size.hpp>
#include <flux/duration.hpp>
#include <flux/hostlist.hpp>
#include <flux/overlay_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <fstream>

namespace flux::broker {
namespace {

std::string host_boot_id() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id;
}

template <class Duration> Duration duration_of(const std::string& text) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(parse_duration(text)));
}

} // namespace

/// A configured instance waits for its parts. One that was launched together ends together.
bool Broker::configured() const { return attributes_.get_or("broker.boot-method", "") == "config"; }

void Broker::follow_parent(Overlay::Environment& overlay) {
    auto setting = [this](const char* name) { return *attributes_.get(name); };
    using std::chrono::milliseconds, std::chrono::nanoseconds;
    overlay.link.connect_timeout = duration_of<milliseconds>(setting("tbon.connect_timeout"));
    overlay.link.user_timeout = duration_of<milliseconds>(setting("tbon.tcp_user_timeout"));
    overlay.boot_id = host_boot_id();
    auto hold = setting("tbon.hold-timeout");
    if (hold != "none") overlay.hold_timeout = duration_of<nanoseconds>(hold);
    overlay.hold_limit = parse_byte_size(setting("tbon.hold-limit"));
    overlay.torpid_min = duration_of<nanoseconds>(setting("tbon.torpid_min"));
    overlay.torpid_max = duration_of<nanoseconds>(setting("tbon.torpid_max"));
    if (overlay.torpid_max.count() > 0 && overlay.torpid_min >= overlay.torpid_max)
        throw Error(EINVAL, "tbon.torpid_min must be below tbon.torpid_max");
    if (overlay.torpid_min.count() <= 0) throw Error(EINVAL, "tbon.torpid_min must be above 0");
    overlay.on_torpid = [this](std::uint32_t rank, bool torpid) { groups_->set_member("broker.torpid", rank, torpid); };
    overlay.on_node_lost = [this](std::uint32_t rank, bool lost) {
        groups_->set_member(overlay_protocol::node_lost_group, rank, lost);
    };
    overlay.on_joined = [this](JsonView answer, bool first) { parent_joined(answer, first); };
    overlay.on_parent_lost = [this](const std::string& why) {
        if (stop_requested_ && machine_.state() >= State::goodbye) return;
        log(LogLevel::crit, why);
        set_exit_code(1);
        request_stop("parent-fail");
        interrupt_.notify_all();
    };
}

void Broker::learn_from_parent(JsonView answer) {
    auto hostlist = answer.get<std::string>("hostlist");
    if (hostlist.empty()) return; // the parent is just booting and knows less than this broker
    attributes_.set("hostlist", hostlist);
    auto hosts = Hostlist::parse(hostlist);
    hosts_ = Json(std::vector<std::string>(hosts.begin(), hosts.end()));
}

Task<> Broker::join_parent(Broker* self) {
    co_await self->overlay_->join(self->parent_address_);
    while (self->parent_state_ < State::quorum && !self->stop_requested_) co_await self->interrupt_.wait();
}

// Ends with a refusal, or when this broker is to stop.
Task<> Broker::join() {
    std::optional<Error> failure;
    auto* pfailure = &failure;
    Scope joining(scope_);
    phase_ = &joining;
    joining.spawn("join", &Broker::join_or_fail, this, pfailure);
    co_await joining.drained();
    phase_ = nullptr;
    co_await joining.close();
    if (failure) throw *failure;
}

Task<> Broker::join_or_fail(Broker* self, std::optional<Error>* failure) {
    try {
        co_await join_parent(self);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        failure->emplace(error);
    }
}

void Broker::watch_anew() {
    scope_.spawn("parent watch", &Broker::watch_parent, this);
    scope_.spawn("config", &Broker::follow_config, this);
}

Task<> Broker::watch_parent(Broker* self) {
    auto payload = Json::object("final", static_cast<int>(State::shutdown));
    try {
        auto options = CallOptions().upstream();
        auto stream = self->handle_->stream("state-machine.monitor", std::move(payload), options);
        for (;;) {
            auto message = co_await stream.next();
            if (!message) break;
            self->parent_entered(static_cast<State>(message->json().get<int>("state")));
        }
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        // The link tells of its loss itself.
    }
}

void Broker::parent_entered(State state) {
    parent_state_ = state;
    if (state >= State::quorum && state < State::cleanup) overlay_->open();
    // A parent that goes to come back is waited for; so is one that failed before it served.
    if (state >= State::shutdown && overlay_->opened()) request_stop("shutdown");
    interrupt_.notify_all();
}

// The parent has answered hello. When it was away, requests go up again when it serves them.
void Broker::parent_joined(JsonView answer, bool first) {
    learn_from_parent(answer);
    groups_->tell_parent(); // also what brokers below have told before there was a way up
    if (first)
        config_ = answer["config"].copy();
    else
        parent_state_ = State::load_builtins;
    watch_anew();
}

/// SIGTERM to a broker of a configured instance: its service is being restarted or its node goes down, the instance
/// and its jobs go on.
void Broker::announce_restart() {
    if (!configured() || restarting_) return;
    restarting_ = true;
    overlay_->announce_restart();
}

} // namespace flux::broker
