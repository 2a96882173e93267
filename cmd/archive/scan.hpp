// Files as the objects of an archive (kvs-content.md 2).
#pragma once

#include <flux/file_descriptor.hpp>
#include <flux/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::archive {

/// A part of a file that has data.
struct Region {
    std::uint64_t offset;
    std::uint64_t size;
};

/// One file, directory or symbolic link.
class ScannedFile {
public:
    /// \param chunk_size  most bytes of a region; 0: no limit.
    /// \param threshold   a file that is not larger stands in its object, others have regions.
    /// \throws Error naming the path
    ScannedFile(const std::string& path, std::uint64_t chunk_size, std::uint64_t threshold);

    /// `{path, mode, mtime, ctime, ...}`; of a file with regions without its `data`.
    Json object;
    std::vector<Region> regions;
    /// The bytes of a region. \throws Error when they are not there any more
    std::string read(const Region& region) const;

private:
    void find_regions(std::uint64_t chunk_size);
    void put_text(const std::string& bytes);

    std::string path_;
    FileDescriptor file_;
};

/// `path` and what is below, entries of a directory before the directory itself, `.` left out. \throws Error
void walk(const std::string& path, const std::function<void(const std::string&)>& visit);

/// How an archive calls a path: without slashes at its beginning, and without `.`. \throws Error EINVAL for `..`
std::string archived_name(std::string_view path);

} // namespace flux::archive
