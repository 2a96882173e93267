// Our terminal as that of a job's first task (shell.md 10.2).
#pragma once

#include <flux/handle.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <termios.h>

namespace flux::follow {

class Terminal {
public:
    /// \param topic  of the task's terminal, at the broker `rank`.
    Terminal(Handle& handle, Scope& scope, std::string topic, std::uint32_t rank);
    /// Gives our terminal back.
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Attach. \throws Error when that is refused
    Task<> attach();
    /// Pass on what is typed and what is written until the task has ended.
    Task<> run();

private:
    static Task<> feed(Terminal* self);
    void send(Json message);
    void make_raw();

    Handle& handle_;
    Scope input_;
    std::string topic_;
    std::uint32_t rank_;
    Stream stream_;
    std::unique_ptr<SignalWatcher> resized_;
    termios saved_{};
    bool raw_ = false;
};

} // namespace flux::follow
