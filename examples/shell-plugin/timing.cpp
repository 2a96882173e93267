// A plugin of the job shell out of the tree: tells how long the tasks of a job ran, and which was the slowest.
//   cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build
//   cp build/timing.so PREFIX/lib/flux/shell/plugins/      (or: flux start -Sconf.shell_pluginpath=$PWD/build)
//   flux run -n4 -o timing ./app             flux run -n4 -o timing=each ./app
// The shell loads it when a job sets the option of its name.
#include <flux/shell.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>

using namespace flux;
using namespace flux::shell;

class Timing final : public Plugin {
public:
    using Plugin::Plugin;
    using Clock = std::chrono::steady_clock;

    Task<> init() override {
        auto option = shell().option("timing");
        each_ = option.try_as<std::string>() == "each";
        if (!each_ && option.is_string()) throw Error(EINVAL, "timing is alone or 'each', not " + option.dump());
        if (shell().leader()) {
            shell().receive("timing", [this](unsigned, JsonView report) {
                add(report.get<unsigned>("rank"), report.get<double>("seconds"));
            });
        }
        co_return;
    }

    void task_fork(ShellTask& task) override { started_[task.rank()] = Clock::now(); }

    void task_exit(ShellTask& task) override {
        auto seconds = std::chrono::duration<double>(Clock::now() - started_.at(task.rank())).count();
        if (shell().leader())
            add(task.rank(), seconds);
        else
            shell().send(0, "timing", Json::object("rank", task.rank(), "seconds", seconds));
    }

    // What the other shells sent before they said that their tasks are over has arrived.
    void tasks_complete() override {
        if (seconds_.empty()) return;
        auto [fastest, slowest] = std::minmax_element(seconds_.begin(), seconds_.end(),
                                                      [](const auto& a, const auto& b) { return a.second < b.second; });
        double sum = 0;
        for (auto& [rank, seconds] : seconds_) {
            sum += seconds;
            if (each_) say("task %u ran %.3fs", rank, seconds);
        }
        say("%zu tasks ran %.3fs on average, from %.3fs (task %u) to %.3fs (task %u)", seconds_.size(),
            sum / static_cast<double>(seconds_.size()), fastest->second, fastest->first, slowest->second,
            slowest->first);
    }

private:
    void add(unsigned rank, double seconds) { seconds_[rank] = seconds; }

    template <class... Values> void say(const char* format, Values... values) {
        char text[200];
        std::snprintf(text, sizeof text, format, values...);
        shell().log(Level::notice, "timing", text);
    }

    bool each_ = false;
    std::map<unsigned, Clock::time_point> started_; // of this shell, by rank
    std::map<unsigned, double> seconds_;            // of the job, on the leader
};

FLUX_SHELL_PLUGIN(Timing, "timing")
