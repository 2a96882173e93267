// Files as JSON (RFC 37) turned into files.
#pragma once

#include <flux/blobref.hpp>
#include <flux/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flux::shell {

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

/// Make a file, directory or symbolic link below `directory`, with the directories on the way.
/// \param load  gives the bytes of a piece.
/// \throws Error naming the path: EPROTO (malformed), EINVAL (a path that leads out), or of the system.
void extract_file(const std::string& directory, const std::string& path, JsonView file,
                  const std::function<std::string(const FilePiece&)>& load);

} // namespace flux::shell
