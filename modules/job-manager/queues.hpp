// The queues (RFC 33): whether jobs may be submitted to them and are given resources, and why not. Pure; durable in the
// checkpoint that the module writes.
#pragma once

#include <flux/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::job_manager {

class Queues {
public:
    Queues();

    /// Take over `[queues]` of a configuration: without it there is one anonymous queue, enabled and started; queues
    /// with a name begin stopped. Queues that stay keep their state. \throws Error EINVAL, nothing is changed then
    void configure(JsonView config);
    bool named() const noexcept { return named_; }
    std::vector<std::string> names() const;

    /// Whether jobs of a queue (empty: the anonymous one) are given resources.
    bool started(std::string_view name) const noexcept;
    /// \throws Error EINVAL when a job for this queue is not to be taken.
    void check_submit(std::string_view name) const;

    /// Answer of queue-status. \throws Error EINVAL
    Json status(std::optional<std::string> name, bool scheduler_online) const;
    /// Do what queue-enable and queue-start ask for. \throws Error EINVAL
    void enable(JsonView request);
    void start(JsonView request);
    /// Stop what is started, as `stop-queues-on-restart` has it.
    void stop_all(std::string_view reason);

    /// Array of the checkpoint's `queue`; queues that are not configured are ignored.
    Json save() const;
    void restore(JsonView saved);

private:
    struct Switch {
        bool on = true;
        std::string reason; // why it is off
    };
    struct Queue {
        std::string name;
        std::string parent;
        Switch submit;
        Switch run;
        Switch saved_run; // what a restart goes back to
    };
    const Queue* find(std::string_view name) const noexcept;
    std::vector<Queue*> select(JsonView request, const char* all_hint);

    bool named_ = false;
    std::vector<Queue> queues_;
};

} // namespace flux::job_manager
