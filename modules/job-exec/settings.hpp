// Configuration `[exec]` and the module's arguments (jobs.md 9.10).
#pragma once

#include "kill_plan.hpp"

#include <flux/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace flux::job_exec {

class Settings {
public:
    Settings() {}
    /// \param config     the whole configuration
    /// \param arguments  of the module, `key=value`; they win.
    /// \param configured whether brokers of the instance come back: decides what is waited for by default.
    /// \throws Error EINVAL naming the key.
    static Settings decode(JsonView config, const std::vector<std::string>& arguments, bool configured = false);
    /// As `stats-get` shows them.
    Json to_json() const;

    std::string service = "rexec"; ///< who starts shells
    std::string method = "bulk-exec";
    std::string imp; ///< empty: no jobs of guests
    std::string job_shell;
    std::optional<Duration> shell_exit_timeout = std::chrono::seconds(30);
    std::optional<Duration> barrier_timeout = std::chrono::minutes(30);
    // How long shells may go on of which nothing can be heard, because
    Duration broker_grace{};                ///< their broker is lost
    Duration node_grace{};                  ///< their node is lost, or the way to it
    std::optional<Duration> torpid_timeout; ///< their broker is torpid; nothing: without an end
    Duration rejoin_timeout{};              ///< a broker above theirs is lost, or theirs has not joined since this
                                            ///< module began
    KillTiming kill;
    int term_signal;
    int kill_signal;
    double max_start_delay_percent = 25;
    bool guests_may_mock = false;
};

/// `30s`, or nothing for `none`, `infinity`, and for 0 when it means that. \throws Error EINVAL
std::optional<Duration> parse_limit(std::string_view text, bool zero_is_none);
Duration to_duration(double seconds);
double to_seconds(Duration duration);
/// `SIGTERM`, `TERM` or a number. \throws Error EINVAL
int parse_signal(std::string_view name);
/// `Killed`
std::string describe_signal(int signum);

} // namespace flux::job_exec
