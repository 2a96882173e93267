// doom — what becomes of a job when a task ends before the others (options `exit-timeout`, `exit-on-error`), or a shell
// is lost. Each shell tells the leader of its first task exit; the first of all is event `shell.task-exit` and starts
// the timer. Exits and losses of shells that are not critical count for nothing.
#include <flux/duration.hpp>
#include <flux/shell.hpp>
#include <flux/shell_protocol.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <sys/wait.h>

namespace flux::shell {
namespace {

constexpr double no_timeout = std::numeric_limits<double>::infinity();

class Doom final : public Plugin {
public:
    explicit Doom(Shell& shell) : Plugin(shell), timer_(shell.loop(), [this] { expire(); }) {}

    Task<> init() override {
        on_error_ = static_cast<bool>(shell().option("exit-on-error"));
        if (auto option = shell().option("exit-timeout")) timeout_ = read_timeout(option);
        if (shell().leader())
            shell().receive(shell_protocol::doom, [this](unsigned from, JsonView info) { first_exit(info, from); });
        co_return;
    }

    void task_exit(ShellTask& task) override {
        if (std::exchange(reported_, true)) return;
        auto info = task.info();
        if (shell().leader())
            first_exit(info, shell().rank());
        else
            shell().send(0, shell_protocol::doom, std::move(info));
    }
    void shell_lost(unsigned shell_rank, int) override {
        if (!critical(shell_rank)) return;
        end_ = End{"shell rank " + std::to_string(shell_rank) + " on host " + host(shell_rank), 1, std::nullopt};
        begin_end();
    }
    void critical_ranks(const Idset& ranks) override { critical_ = ranks; }
    void tasks_complete() override { timer_.stop(); }

private:
    struct End {
        std::string who;
        int exit_code;
        std::optional<int> wait_status; // unknown of a lost shell
    };

    static double read_timeout(JsonView option) {
        if (auto number = option.try_as<double>()) {
            if (*number < 0) throw Error(EINVAL, "invalid exit-timeout " + option.dump());
            return *number;
        }
        auto text = option.as<std::string>();
        std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
        return text == "none" ? no_timeout : parse_duration(text);
    }

    bool critical(unsigned shell_rank) const { return critical_.test(shell_rank); }
    const std::string& host(unsigned shell_rank) const { return shell().info().ranks[shell_rank].host; }

    void first_exit(JsonView info, unsigned shell_rank) {
        if (!posted_) {
            posted_ = true;
            shell().append_event(shell_protocol::exec_eventlog_key, EventlogEntry("shell.task-exit", info.copy()));
        }
        if (end_ || !critical(shell_rank)) return;
        end_ = End{"task rank " + info["rank"].dump() + " on host " + host(shell_rank), info.get<int>("exitcode"),
                   info.get<int>("wait_status")};
        begin_end();
    }

    void begin_end() {
        if (on_error_ && end_->exit_code != 0) return end_job(" failed" + reason() + " and exit-on-error is set");
        if (timeout_ == no_timeout || timer_.active()) return;
        timer_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(timeout_)));
    }
    void expire() { end_job(" exited" + reason() + " and exit-timeout=" + format_duration(timeout_) + " has expired"); }

    std::string reason() const {
        if (!end_->wait_status) return {};
        int status = *end_->wait_status;
        if (WIFSIGNALED(status)) return std::string(" (") + ::strsignal(WTERMSIG(status)) + ')';
        return " (Exit " + std::to_string(end_->exit_code) + ')';
    }

    void end_job(const std::string& how) {
        auto command = shell().info().jobspec.command()[0];
        auto text = command.substr(command.rfind('/') + 1) + ": " + end_->who + how;
        shell().raise("exec", 0, text, end_->wait_status);
        shell().fatal(end_->exit_code, text);
    }

    Timer timer_;
    double timeout_ = 30;
    bool on_error_ = false;
    bool reported_ = false; // this shell's first exit
    bool posted_ = false;   // the job's first exit
    std::optional<End> end_;
    Idset critical_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Doom, "doom")
