// signal — warns the job some time before its end (option `signal`): the leader sends a signal to all tasks.
#include <flux/duration.hpp>
#include <flux/shell.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace flux::shell {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

class Signal final : public Plugin {
public:
    explicit Signal(Shell& shell) : Plugin(shell), timer_(shell.loop(), [this] { warn(); }) {}

    Task<> init() override {
        if (!shell().leader() || !read_option()) co_return;
        shell().follow_resources();
        arm();
    }
    void resource_update() override { arm(); }

private:
    bool read_option() {
        auto option = shell().option("signal");
        if (option.is_object()) {
            signum_ = option.get_or("signum", signum_);
            if (auto left = option["timeleft"])
                timeleft_ = left.is_number() ? left.as<double>() : parse_duration(left.as<std::string_view>());
        } else if (option.as<int>() == 0) {
            return false;
        }
        if (signum_ <= 0 || signum_ > SIGRTMAX) throw Error(EINVAL, "invalid signum " + std::to_string(signum_));
        armed_ = true;
        return true;
    }

    void arm() {
        if (!armed_) return;
        auto expiration = shell().info().expiration;
        if (expiration <= 0) {
            timer_.stop();
            shell().log(Level::debug, "signal", "job has no expiration, disabling");
            return;
        }
        auto wait = std::max(0.0, expiration - now() - timeleft_);
        timer_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(wait)));
    }

    void warn() {
        auto left = std::max(0.0, shell().info().expiration - now());
        auto name = ::sigabbrev_np(signum_);
        shell().log(Level::notice, "signal",
                    "job will expire in " + format_duration(left, 3) + ", sending " +
                        (name ? std::string("SIG") + name : "signal " + std::to_string(signum_)) + " to job");
        if (shell().standalone()) return shell().kill_tasks(signum_);
        auto payload = Json::object("id", shell().info().id, "signum", signum_);
        shell().handle().call("job-manager.kill", std::move(payload)).then([this](const Message& reply) {
            if (reply.errnum()) shell().log(Level::error, "signal", "job-manager.kill: " + reply.error_text());
        });
    }

    Timer timer_;
    bool armed_ = false;
    int signum_ = SIGUSR1;
    double timeleft_ = 60;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Signal, "signal")
