// One task: what its program is started with, its process and its streams.
#pragma once

#include <flux/shell.hpp>
#include <flux/subprocess.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flux::shell {

class LocalTask final : public ShellTask {
public:
    LocalTask(unsigned rank, unsigned local_id, std::vector<std::string> argv)
        : rank_(rank), local_id_(local_id), argv_(std::move(argv)) {}

    /// Start the program. \param on_complete  called when it has ended and its streams too.
    /// \throws Error with the errno of the failed execution.
    void start(Loop& loop, const Environment& job_environment, bool process_group, std::function<void()> on_complete);
    /// Stop or resume reading of its output.
    void enable_output(bool on);

    unsigned rank() const noexcept override { return rank_; }
    unsigned local_id() const noexcept override { return local_id_; }
    State state() const noexcept override { return state_; }
    int pid() const noexcept override { return process_ ? process_->pid() : -1; }
    int wait_status() const noexcept override;
    int exit_code() const noexcept override;
    Json info() const override;
    std::vector<std::string>& argv() noexcept override { return argv_; }
    Environment& environment() noexcept override { return environment_; }
    void bind(const Idset& cpus) override { cpus_ = cpus; }
    void use_file(std::string_view stream, int fd) override;
    void add_channel(std::string_view name, OnOutput on_output) override;
    void on_output(std::string_view stream, bool line_buffered, OnOutput on_output) override;
    void use_terminal(std::string_view path) override { terminal_ = path; }
    void deliver_output(std::string_view stream, std::string_view data) override;
    void write(std::string_view stream, std::string_view data) override;
    void close(std::string_view stream) override;
    void kill(int signum) noexcept override;

private:
    struct Output {
        std::string name;
        bool channel;
        bool line_buffered;
        OnOutput callback;
    };
    struct File {
        std::string stream;
        FileDescriptor fd;
    };
    SubprocessSetup setup(const Environment& job_environment, bool process_group);

    const unsigned rank_;
    const unsigned local_id_;
    State state_ = State::init;
    std::vector<std::string> argv_;
    Environment environment_;
    std::optional<Idset> cpus_;
    std::vector<File> files_;
    std::vector<Output> outputs_;
    std::string terminal_;
    std::function<void()> on_complete_;
    std::unique_ptr<Subprocess> process_;
};

/// The exit code of a shell whose task could not be started: 126, 127 or 1.
int exec_failure_code(int errnum) noexcept;

} // namespace flux::shell
