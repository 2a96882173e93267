// The terminal of one task: what its program writes goes to a client, to the task's stdout, or both.
#pragma once

#include <flux/file_descriptor.hpp>
#include <flux/shell.hpp>

#include <memory>
#include <optional>
#include <string>

namespace flux::shell {

class PtySession {
public:
    /// Opens the terminal and gives it to the task.
    /// \param capture      output goes where the task's stdout goes.
    /// \param interactive  nothing is read before a client has come.
    /// \throws Error
    PtySession(Shell& shell, ShellTask& task, bool capture, bool interactive);

    ShellTask& task() const noexcept { return task_; }
    /// The task runs.
    void started();
    /// The task has ended. What it has written is delivered when this returns, unless a client is waited for.
    void ended();
    /// A message of a client: `attach`, `data`, `resize`, `detach`. \throws Error
    void receive(Request request);
    /// A client has gone.
    void disconnect(const Request& request);

private:
    enum class Progress { more, nothing_yet, end };

    static Task<> pump(PtySession* self);
    Progress read_some();
    void capture(std::string_view data);
    void on_ready(int directions);
    void watch();
    void attach(Request request);
    void resize(JsonView winsize);
    void write(std::string_view data);
    void finish();

    Shell& shell_;
    ShellTask& task_;
    bool capture_;
    bool interactive_;
    FileDescriptor master_;
    FileDescriptor slave_; ///< until the task has its own: a terminal that nobody has open counts as closed
    std::unique_ptr<FdWatcher> watcher_;
    Condition changed_;
    Shell::Hold hold_;
    std::string input_; ///< that the terminal has not taken yet
    std::string line_;  ///< captured, of a line that has not ended
    std::optional<Request> client_;
    bool readable_ = false;
    bool seen_ = false; ///< a client has been there
    bool ended_ = false;
    bool finished_ = false;
};

} // namespace flux::shell
