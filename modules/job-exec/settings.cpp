#include "settings.hpp"

#include <flux/duration.hpp>
#include <flux/parse_integer.hpp>
#include <flux/paths.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

namespace flux::job_exec {
namespace {

// Longer than anything runs, and far from the end of a 64 bit clock.
constexpr double longest = 3e9;

class Reader {
public:
    Reader(JsonView table, const std::vector<std::string>& arguments) : table_(table), arguments_(arguments) {}

    void string(const char* key, std::string& out) {
        if (auto given = argument(key))
            out = *given;
        else if (auto value = table_.get_optional<std::string>(key))
            out = *value;
    }
    // A duration or a signal is given as a text, or as a number.
    std::optional<std::string> text(const char* key) {
        if (auto given = argument(key)) return given;
        auto value = table_[key];
        if (!value) return std::nullopt;
        if (value.is_number()) return value.dump();
        return table_.get<std::string>(key);
    }
    template <class Parse> void parsed(const char* key, Parse parse) {
        auto value = text(key);
        if (!value) return;
        try {
            parse(*value);
        } catch (const Error& error) {
            throw Error(EINVAL, std::string("exec.") + key + ": " + error.what());
        }
    }
    /// \throws Error EINVAL for an argument that nobody has asked for.
    void check_arguments() const {
        for (const auto& argument : arguments_) {
            auto key = argument.substr(0, argument.find('='));
            if (std::find(known_.begin(), known_.end(), key) == known_.end())
                throw Error(EINVAL, "job-exec: unknown option '" + argument + "'");
        }
    }

private:
    std::optional<std::string> argument(const char* key) {
        known_.emplace_back(key);
        auto prefix = std::string(key) + '=';
        for (const auto& argument : arguments_)
            if (argument.starts_with(prefix)) return argument.substr(prefix.size());
        return std::nullopt;
    }
    JsonView table_;
    const std::vector<std::string>& arguments_;
    std::vector<std::string> known_;
};

} // namespace

Duration to_duration(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, longest)));
}

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::optional<Duration> parse_limit(std::string_view text, bool zero_is_none) {
    if (text == "none") return std::nullopt;
    auto seconds = parse_duration(text);
    if (std::isinf(seconds) || (seconds == 0 && zero_is_none)) return std::nullopt;
    return to_duration(seconds);
}

int parse_signal(std::string_view name) {
    if (auto number = parse_integer<int>(name)) {
        if (*number > 0 && *number < NSIG) return *number;
    } else {
        auto abbreviation = name.starts_with("SIG") ? name.substr(3) : name;
        for (int signum = 1; signum < NSIG; ++signum) {
            const char* known = ::sigabbrev_np(signum);
            if (known && abbreviation == known) return signum;
        }
    }
    throw Error(EINVAL, "invalid signal '" + std::string(name) + "'");
}

std::string describe_signal(int signum) {
    const char* text = ::sigdescr_np(signum);
    return text ? text : "signal " + std::to_string(signum);
}

Settings Settings::decode(JsonView config, const std::vector<std::string>& arguments, bool configured) {
    Settings settings;
    if (configured) {
        settings.broker_grace = std::chrono::minutes(1);
        settings.rejoin_timeout = std::chrono::minutes(10);
    }
    settings.job_shell = paths::libexecdir() + "/flux-shell";
    settings.term_signal = SIGTERM;
    settings.kill_signal = SIGKILL;
    auto table = config["exec"];
    Reader reader(table, arguments);
    reader.string("service", settings.service);
    reader.string("method", settings.method);
    reader.string("imp", settings.imp);
    reader.string("job-shell", settings.job_shell);
    reader.parsed("shell-exit-timeout",
                  [&](const auto& text) { settings.shell_exit_timeout = parse_limit(text, false); });
    reader.parsed("barrier-timeout", [&](const auto& text) { settings.barrier_timeout = parse_limit(text, true); });
    reader.parsed("broker-grace", [&](const auto& text) { settings.broker_grace = to_duration(parse_duration(text)); });
    reader.parsed("node-grace", [&](const auto& text) { settings.node_grace = to_duration(parse_duration(text)); });
    reader.parsed("torpid-timeout", [&](const auto& text) { settings.torpid_timeout = parse_limit(text, false); });
    reader.parsed("rejoin-timeout",
                  [&](const auto& text) { settings.rejoin_timeout = to_duration(parse_duration(text)); });
    reader.parsed("kill-timeout", [&](const auto& text) {
        settings.kill.kill_timeout = to_duration(parse_duration(text));
        // A plan that does not move forward would never end.
        if (settings.kill.kill_timeout <= Duration{}) throw Error(EINVAL, "must be greater than 0");
    });
    reader.parsed("max-kill-count", [&](const auto& text) {
        auto count = parse_integer<unsigned>(text);
        if (!count || *count == 0) throw Error(EINVAL, "must be an integer greater than 0");
        settings.kill.max_kill_count = *count;
    });
    reader.parsed("max-kill-timeout",
                  [&](const auto& text) { settings.kill.max_kill_timeout = to_duration(parse_duration(text)); });
    reader.parsed("term-signal", [&](const auto& text) { settings.term_signal = parse_signal(text); });
    reader.parsed("kill-signal", [&](const auto& text) { settings.kill_signal = parse_signal(text); });
    settings.max_start_delay_percent = table.get_or("max-start-delay-percent", settings.max_start_delay_percent);
    settings.guests_may_mock = table["testexec"].get_or("allow-guests", false);
    reader.check_arguments();
    return settings;
}

Json Settings::to_json() const {
    auto max_kill_timeout = kill.max_kill_timeout ? to_seconds(*kill.max_kill_timeout) : -1.0;
    auto signal_name = [](int signum) {
        const char* name = ::sigabbrev_np(signum);
        return name ? std::string("SIG") + name : std::to_string(signum);
    };
    auto details =
        Json::object("default_cwd", "/tmp", "default_job_shell", job_shell, "exec_service", service,
                     "default_barrier_timeout", barrier_timeout ? to_seconds(*barrier_timeout) : 0.0,
                     "shell_exit_timeout", shell_exit_timeout ? to_seconds(*shell_exit_timeout) : -1.0, "broker_grace",
                     to_seconds(broker_grace), "node_grace", to_seconds(node_grace), "torpid_timeout",
                     torpid_timeout ? to_seconds(*torpid_timeout) : -1.0, "rejoin_timeout", to_seconds(rejoin_timeout));
    if (!imp.empty()) details.set("flux_imp_path", imp);
    return Json::object("method", method, "kill-timeout", to_seconds(kill.kill_timeout), "term-signal",
                        signal_name(term_signal), "kill-signal", signal_name(kill_signal), "max-kill-count",
                        kill.max_kill_count, "max-kill-timeout", max_kill_timeout, "effective-max-kill-timeout",
                        to_seconds(kill.total()), "config", std::move(details));
}

} // namespace flux::job_exec
