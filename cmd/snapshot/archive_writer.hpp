// Writes an archive of files and symbolic links. A file gets its name when it is whole: until then what had that name
// before is there.
#pragma once

#include <flux/file_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct archive;

namespace flux::snapshot {

class ArchiveWriter {
public:
    /// \param path  its name tells the format; `-`: a tar archive on stdout. \throws Error
    explicit ArchiveWriter(const std::string& path);
    /// Without close(): the archive is dropped.
    ~ArchiveWriter();

    /// Begin a file; its bytes follow. \param time  seconds since 1970; 0: neither time nor owner are known.
    void begin_file(const std::string& name, std::uint64_t size, std::int64_t time = 0);
    void write(std::string_view bytes);
    void add_link(const std::string& name, const std::string& target);
    /// The end: all of it is on disk.
    void close();

private:
    [[noreturn]] void fail(const std::string& name = {});
    void open_file();

    struct Free {
        void operator()(archive* archive) const noexcept;
    };
    std::string path_;
    std::string partial_; // where a file is being written
    FileDescriptor file_;
    std::unique_ptr<archive, Free> archive_;
};

} // namespace flux::snapshot
