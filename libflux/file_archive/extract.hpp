// Files as JSON (RFC 37) turned into files.
#pragma once

#include <flux/blobref.hpp>
#include <flux/file_descriptor.hpp>
#include <flux/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flux::file_archive {

/// Paths and objects of an archive, in either of its forms. \throws Error EPROTO
std::vector<std::pair<std::string, JsonView>> archived_files(JsonView archive);

/// A piece of a file that is kept in the content store.
struct FilePiece {
    std::uint64_t offset;
    std::uint64_t size;
    Blobref blob;
};
/// The pieces of a file of encoding `blobvec`; none for others. \throws Error EPROTO
std::vector<FilePiece> pieces_of(JsonView file);

class ExtractOptions {
public:
    ExtractOptions() = default;
    bool overwrite = true; ///< what is in the way
    unsigned mask = 07777; ///< bits of modes that are set
};

/// A file, directory or symbolic link that is made below a directory, with the directories on the way.
class ExtractedFile {
public:
    /// \throws Error naming the path: EPROTO (malformed), EINVAL (a path that leads out), EEXIST, or of the system.
    ExtractedFile(const std::string& directory, const std::string& path, JsonView file, ExtractOptions options = {});
    /// The bytes of one of its pieces. \throws Error EPROTO when there are too many or too few
    void write(const FilePiece& piece, std::string_view bytes);
    /// After all of its pieces: size, mode and time.
    void finish();

private:
    void open(int at, const std::string& name, unsigned mode);
    void make_link(int at, const std::string& name);
    void make_directory(int at, const std::string& name, unsigned mode);

    std::string path_;
    JsonView file_;
    ExtractOptions options_;
    FileDescriptor fd_; // of a regular file
};

} // namespace flux::file_archive
