// The programs that a broker runs itself: the initial program, rc scripts, cleanup commands (broker.md 6.3).
#pragma once

#include <flux/loop.hpp>
#include <flux/task.hpp>

#include <memory>
#include <string>
#include <vector>

namespace flux::broker {

class Program {
public:
    class Options {
    public:
        Options() {}
        std::vector<std::string> argv;
        std::vector<std::string> environment; ///< NAME=VALUE
        bool foreground = false;              ///< inherit stdio and the terminal; else output goes to on_output
        bool own_group = true;
        std::function<void(bool error, const std::string& line)> on_output;
    };
    /// Start it. \throws Error when it cannot be executed
    Program(Loop& loop, Options options);
    ~Program();
    /// Wait for its end. \return exit code; 128 + signal when killed
    Task<int> wait();
    void kill(int signum) noexcept;
    int pid() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The broker's environment without what belongs to its own launch, plus FLUX_URI (broker.md 6.3).
std::vector<std::string> program_environment(const std::string& local_uri, const std::string& jobid);

} // namespace flux::broker
