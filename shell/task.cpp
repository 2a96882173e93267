#include "task.hpp"

#include "affinity.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/wait.h>

namespace flux::shell {
namespace {

// What clients may send before a task reads it.
constexpr std::size_t stdin_limit = 32 * 1024 * 1024;

} // namespace

SubprocessSetup LocalTask::setup(const Environment& job_environment, bool process_group) {
    Command command(argv_);
    command.process_group = process_group || !terminal_.empty(); // a session's leader leads a group
    command.terminal = terminal_;
    command.env.reserve(job_environment.size() + environment_.size());
    for (const auto& [name, value] : job_environment)
        if (!environment_.contains(name)) command.env.push_back(name + '=' + value);
    for (const auto& [name, value] : environment_) command.env.push_back(name + '=' + value);

    SubprocessSetup setup(std::move(command));
    if (terminal_.empty())
        setup.pipe("stdin").limit = stdin_limit;
    else
        setup.stream("stdin").kind = StreamSetup::Kind::null;
    for (auto name : {"stdout", "stderr"}) setup.stream(name).kind = StreamSetup::Kind::null;
    for (const auto& output : outputs_) {
        if (!output.channel && !terminal_.empty()) continue;
        auto& stream = output.channel ? setup.channel(output.name) : setup.pipe(output.name);
        stream.mode = output.line_buffered ? ReadMode::line : ReadMode::raw;
    }
    for (const auto& file : files_) {
        auto& stream = setup.stream(file.stream);
        stream.kind = StreamSetup::Kind::given;
        stream.fd = file.fd.get();
    }
    return setup;
}

void LocalTask::start(Loop& loop, const Environment& job_environment, bool process_group,
                      std::function<void()> on_complete) {
    on_complete_ = std::move(on_complete);
    SubprocessEvents events;
    events.on_output = [this](const std::string& stream, std::string_view data) { deliver_output(stream, data); };
    events.on_complete = [this] {
        state_ = State::exited;
        on_complete_();
    };
    std::optional<BoundThread> bound;
    if (cpus_) bound.emplace(*cpus_);
    process_ = std::make_unique<Subprocess>(loop, setup(job_environment, process_group), std::move(events));
    state_ = State::running;
    files_.clear();
}

void LocalTask::enable_output(bool on) {
    if (state_ != State::running) return;
    for (const auto& output : outputs_) {
        if (output.channel || !terminal_.empty()) continue;
        if (on)
            process_->streams().resume(output.name);
        else
            process_->streams().pause(output.name);
    }
}

int LocalTask::wait_status() const noexcept { return process_ ? process_->status().value_or(0) : 0; }

int LocalTask::exit_code() const noexcept {
    int status = wait_status();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Json LocalTask::info() const {
    auto state = state_ == State::init ? "Init" : state_ == State::running ? "Running" : "Exited";
    auto info = Json::object("localid", local_id_, "rank", rank_, "state", state);
    if (process_) info.set("pid", pid());
    if (state_ == State::exited) {
        int status = wait_status();
        info.set("wait_status", status);
        info.set("signaled", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        info.set("exitcode", exit_code());
    }
    return info;
}

void LocalTask::use_file(std::string_view stream, int fd) {
    files_.push_back(File{std::string(stream), FileDescriptor(fd)});
}

void LocalTask::add_channel(std::string_view name, OnOutput on_output) {
    outputs_.push_back(Output{std::string(name), true, true, std::move(on_output)});
}

void LocalTask::on_output(std::string_view stream, bool line_buffered, OnOutput on_output) {
    for (const auto& output : outputs_)
        if (output.name == stream) throw Error(EEXIST, "stream " + output.name + " is taken");
    outputs_.push_back(Output{std::string(stream), false, line_buffered, std::move(on_output)});
}

void LocalTask::deliver_output(std::string_view stream, std::string_view data) {
    for (const auto& output : outputs_)
        if (output.name == stream && output.callback) output.callback(*this, data, data.empty());
}

void LocalTask::write(std::string_view stream, std::string_view data) {
    if (state_ != State::running || (stream == "stdin" && !terminal_.empty())) throw Error(EPIPE);
    process_->streams().write(std::string(stream), data);
}

void LocalTask::close(std::string_view stream) {
    if (stream == "stdin" && !terminal_.empty()) return;
    if (state_ == State::running) process_->streams().close(std::string(stream));
}

void LocalTask::kill(int signum) noexcept {
    if (state_ != State::running || signum <= 0) return;
    try {
        process_->kill(signum);
    } catch (const Error&) {
        // It is gone already, and its end will be told.
    }
}

int exec_failure_code(int errnum) noexcept {
    if (errnum == EPERM || errnum == EACCES) return 126;
    return errnum == ENOENT ? 127 : 1;
}

} // namespace flux::shell
