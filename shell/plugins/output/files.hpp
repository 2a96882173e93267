// Output files of a shell: the same path is opened once.
#pragma once

#include <flux/file_descriptor.hpp>

#include <map>
#include <string>
#include <string_view>

namespace flux::shell {

class OutputFile {
public:
    OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
    /// Write all of it, blocking. \throws Error `PATH: why`
    void write(std::string_view data);
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    FileDescriptor fd_;
};

class OutputFiles {
public:
    /// \throws Error `open: PATH: why`
    OutputFile& open(const std::string& path, int flags);

private:
    std::map<std::string, OutputFile> files_;
};

} // namespace flux::shell
