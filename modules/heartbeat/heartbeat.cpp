// modules/heartbeat — publishes `heartbeat.pulse` from rank 0 every period; the others watch for it and leave a parent
// through which none comes, and every broker a child that is torpid for as long. No durable state. Reload: the next
// pulse may be late by one period.
#include "settings.hpp"

#include <flux/heartbeat_protocol.hpp>
#include <flux/module.hpp>
#include <flux/overlay_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <map>
#include <memory>

namespace flux {

class Heartbeat final : public Module {
public:
    explicit Heartbeat(ModuleContext& context)
        : Module(context),
          settings_(config(), arg("period")),
          pulse_timer_(loop(), [this] { publish(); }),
          overdue_timer_(loop(), [this] { overdue(); }),
          timeout_timer_(loop(), [this] { leave_parent(); }) {}

    Task<> start() override {
        serve_stats(heartbeat_protocol::stats_get);
        leader_ = rank() == 0;
        spawn("watch children", &Heartbeat::watch_children, this);
        if (!leader_) {
            auto on_pulse = [this](const Message&) { received(); };
            co_await handle().subscribe(heartbeat_protocol::pulse, on_pulse);
            spawn("watch path", &Heartbeat::watch_path, this);
        }
        arm();
    }

    Json stats() override {
        auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
        return Json::object("period", seconds(settings_.period), "timeout", seconds(settings_.timeout), "count", count_,
                            "warn_thresh", settings_.warn_thresh);
    }

    void config_changed(JsonView config) override {
        settings_ = HeartbeatSettings(config, arg("period"));
        for (auto& [rank, timer] : torpid_) start(*timer);
        arm();
    }

private:
    void arm() {
        if (leader_) return pulse_timer_.start(settings_.period, settings_.period);
        overdue_timer_.stop();
        timeout_timer_.stop();
        if (!connected_) return;
        if (settings_.warn_thresh > 0) overdue_timer_.start(settings_.period * settings_.warn_thresh);
        if (settings_.timeout.count() > 0) timeout_timer_.start(settings_.timeout);
    }

    void publish() {
        handle().publish(heartbeat_protocol::pulse);
        ++count_;
    }

    void received() {
        ++count_;
        if (std::exchange(overdue_, false)) log(LogLevel::info, "heartbeat received");
        arm();
    }

    void overdue() {
        overdue_ = true;
        log(LogLevel::warning, "heartbeat overdue");
    }

    void leave_parent() {
        auto reason = "no heartbeat for " + settings_.timeout_text;
        handle().notify(overlay_protocol::disconnect_parent.topic, Json::object("reason", reason));
    }

    void start(Timer& timer) const {
        timer.stop();
        if (settings_.timeout.count() > 0) timer.start(settings_.timeout);
    }

    // A broker without an overlay has no children.
    Task<> watch_children() {
        auto children = handle().stream(overlay_protocol::monitor.topic);
        try {
            while (auto update = co_await children.next()) {
                auto child = update->json().get<std::uint32_t>("rank");
                bool torpid = update->json().get<bool>("torpid");
                if (!torpid) {
                    torpid_.erase(child);
                } else if (!torpid_.contains(child)) {
                    auto leave = [this, child] { leave_child(child); };
                    start(*(torpid_[child] = std::make_unique<Timer>(loop(), leave)));
                }
            }
        } catch (const Error& error) {
            if (error.errnum() != ENOSYS) throw;
        }
    }

    void leave_child(std::uint32_t child) {
        auto reason = "no sign of life for " + settings_.timeout_text;
        handle().notify(overlay_protocol::disconnect_subtree.topic, Json::object("rank", child, "reason", reason));
    }

    // Time counts only while the parent link is up. A broker that does not tell is taken to be connected.
    Task<> watch_path() {
        auto path = handle().stream(overlay_protocol::path.topic);
        try {
            while (auto update = co_await path.next()) {
                auto state = update->json();
                bool connected = state.get<std::string_view>("state") == "up" || state.get_or("silent", false);
                if (std::exchange(connected_, connected) != connected) arm();
            }
        } catch (const Error& error) {
            if (error.errnum() != ENOSYS) throw;
        }
    }

    HeartbeatSettings settings_;
    bool leader_ = false;
    bool connected_ = true;
    bool overdue_ = false;
    std::uint64_t count_ = 0;
    Timer pulse_timer_;
    Timer overdue_timer_;
    Timer timeout_timer_;
    std::map<std::uint32_t, std::unique_ptr<Timer>> torpid_; ///< children, until they are given up
};

} // namespace flux

FLUX_MODULE(flux::Heartbeat, "heartbeat")
