// oom — how ready the kernel is to end the tasks when memory runs out (option `oom.adjust`).
#include <flux/file_descriptor.hpp>
#include <flux/shell.hpp>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace flux::shell {
namespace {

constexpr int lowest = -1000, highest = 1000;

class Oom final : public Plugin {
public:
    using Plugin::Plugin;

    Task<> init() override {
        auto option = shell().option("oom");
        auto adjust = option["adjust"].try_as<int>();
        if (!adjust || option.size() != 1 || *adjust < lowest || *adjust > highest)
            throw Error(EINVAL, "invalid option " + option.dump() + ": adjust from -1000 to 1000 is all there is");
        score_ = std::to_string(*adjust);
        co_return;
    }

    void task_fork(ShellTask& task) override {
        auto path = "/proc/" + std::to_string(task.pid()) + "/oom_score_adj";
        FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (file.get() >= 0 && ::write(file.get(), score_.data(), score_.size()) >= 0) return;
        shell().log(Level::warning, "oom", path + ": " + errno_text(errno) + ", ignoring");
    }

private:
    std::string score_;
};

} // namespace
} // namespace flux::shell

FLUX_SHELL_PLUGIN(flux::shell::Oom, "oom")
