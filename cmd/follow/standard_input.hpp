// Standard input of a command, read as it comes without blocking the loop.
#pragma once

#include <flux/file_descriptor.hpp>
#include <flux/task.hpp>

#include <memory>
#include <string>

namespace flux::follow {

class StandardInput {
public:
    explicit StandardInput(Loop& loop);
    ~StandardInput();
    StandardInput(const StandardInput&) = delete;
    StandardInput& operator=(const StandardInput&) = delete;

    /// The next bytes; empty at the end. \throws Error of read(2)
    Task<std::string> read();

private:
    FileDescriptor fd_;
    int restore_flags_ = -1; // of the description shared with others
    std::unique_ptr<FdWatcher> watcher_;
    Condition readable_;
    bool ready_ = false;
};

} // namespace flux::follow
