// Reads an archive of any kind that libarchive knows. What it is made of is foreign: every refusal names the entry.
#pragma once

#include <flux/file_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct archive;
struct archive_entry;

namespace flux::snapshot {

class ArchiveReader {
public:
    class Entry {
    public:
        Entry() {}
        std::string name;
        std::vector<std::string> path;     ///< the names of a key
        std::optional<std::string> link;   ///< of a symbolic link: its target
        std::optional<std::uint64_t> size; ///< of a file, when the archive tells it before its bytes
        std::int64_t time = 0;             ///< seconds since 1970
    };

    /// \param path  `-`: stdin. \throws Error
    static ArchiveReader open(const std::string& path);
    /// One in memory, which must outlive this.
    static ArchiveReader of_bytes(std::string_view bytes);

    /// The next file or symbolic link; others are passed over. False at the end. \throws Error
    bool next(Entry& entry);
    /// Bytes of the file, at most `limit`; fewer at its end. \throws Error
    std::string read(std::size_t limit);

private:
    ArchiveReader(std::string path, int fd);
    [[noreturn]] void fail(const std::string& why = {});
    void begin(int status);
    void require_end(std::int64_t last_bytes);

    struct Free {
        void operator()(archive* archive) const noexcept;
    };
    std::string path_;
    std::string name_; // of the entry, for messages
    FileDescriptor file_;
    std::unique_ptr<archive, Free> archive_;
};

/// The names of the key that a path in an archive stands for. \throws Error EINVAL when there is no such key.
std::vector<std::string> key_of_path(std::string_view path);

} // namespace flux::snapshot
