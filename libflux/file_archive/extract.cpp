#include "libflux/file_archive/extract.hpp"

#include <flux/base64.hpp>
#include <flux/file_descriptor.hpp>

#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::file_archive {
namespace {

[[noreturn]] void fail(int errnum, const std::string& path) { throw Error(errnum, path + ": " + errno_text(errnum)); }

Error in_the_way(const std::string& path) {
    return Error(EEXIST, path + ": write: Attempt to overwrite existing file");
}

// Relative, and without components that lead elsewhere.
void check_path(const std::string& path) {
    auto refuse = [&] { throw Error(EINVAL, "'" + path + "': not a path below the archive"); };
    if (path.empty() || path[0] == '/' || path.find('\0') != path.npos) refuse();
    for (std::size_t begin = 0; begin <= path.size();) {
        auto end = std::min(path.size(), path.find('/', begin));
        auto name = std::string_view(path).substr(begin, end - begin);
        if (name.empty() || name == "." || name == "..") refuse();
        begin = end + 1;
    }
}

// Open the directory that `path` is in, making those on the way. Links are not followed.
FileDescriptor open_parent(const std::string& directory, const std::string& path) {
    FileDescriptor at(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!at) fail(errno, directory);
    for (std::size_t begin = 0, end; (end = path.find('/', begin)) != path.npos; begin = end + 1) {
        auto name = path.substr(begin, end - begin);
        if (::mkdirat(at.get(), name.c_str(), 0700) < 0 && errno != EEXIST) fail(errno, path.substr(0, end));
        FileDescriptor next(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!next) fail(errno, path.substr(0, end));
        at = std::move(next);
    }
    return at;
}

std::string text_of(JsonView file) {
    auto data = file["data"];
    if (!data) return {};
    auto encoding = file.get_or<std::string_view>("encoding", "");
    if (encoding.empty()) return data.dump();
    auto text = data.as<std::string_view>();
    if (encoding == "base64") return base64_decode(text);
    if (encoding == "utf-8") return std::string(text);
    throw Error(EPROTO, "unknown encoding '" + std::string(encoding) + "'");
}

void write_at(int fd, std::string_view data, std::uint64_t offset, const std::string& path) {
    while (!data.empty()) {
        auto count = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(errno, path);
        data.remove_prefix(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
}

void set_time(int fd, JsonView file, const std::string& path) {
    auto mtime = file.get_optional<double>("mtime");
    if (!mtime) return;
    timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(std::floor(*mtime)), 0}};
    if (::futimens(fd, times) < 0) fail(errno, path);
}

} // namespace

std::vector<std::pair<std::string, JsonView>> archived_files(JsonView archive) {
    std::vector<std::pair<std::string, JsonView>> files;
    if (!archive.is_object() && !archive.is_array()) throw Error(EPROTO, "files: neither object nor array");
    for (auto [path, file] : archive.members()) files.emplace_back(path, file);
    for (auto file : archive.elements()) files.emplace_back(file.get<std::string>("path"), file);
    return files;
}

std::vector<FilePiece> pieces_of(JsonView file) {
    std::vector<FilePiece> pieces;
    if (file.get_or<std::string_view>("encoding", "") != "blobvec") return pieces;
    for (auto piece : file["data"].elements())
        pieces.push_back(FilePiece{piece[0].as<std::uint64_t>(), piece[1].as<std::uint64_t>(), piece[2].as<Blobref>()});
    return pieces;
}

ExtractedFile::ExtractedFile(const std::string& directory, const std::string& path, JsonView file,
                             ExtractOptions options)
    : path_(path), file_(file), options_(options) {
    check_path(path);
    auto mode = file.get<mode_t>("mode");
    auto at = open_parent(directory, path);
    auto name = path.substr(path.rfind('/') + 1);
    if (S_ISLNK(mode))
        make_link(at.get(), name);
    else if (S_ISDIR(mode))
        make_directory(at.get(), name, mode);
    else if (S_ISREG(mode))
        open(at.get(), name, mode);
    else
        throw Error(EPROTO, path + ": mode " + std::to_string(mode) + " is none of a file, directory or link");
}

void ExtractedFile::make_link(int at, const std::string& name) {
    auto target = file_.get<std::string>("data");
    if (options_.overwrite && ::unlinkat(at, name.c_str(), 0) < 0 && errno != ENOENT) fail(errno, path_);
    if (::symlinkat(target.c_str(), at, name.c_str()) == 0) return;
    if (errno == EEXIST) throw in_the_way(path_);
    fail(errno, path_);
}

// What was in it may have made it before.
void ExtractedFile::make_directory(int at, const std::string& name, unsigned mode) {
    auto bits = mode & options_.mask & 0777;
    if (::mkdirat(at, name.c_str(), bits) == 0) return;
    if (errno != EEXIST) fail(errno, path_);
    FileDescriptor made(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made || ::fchmod(made.get(), bits) < 0) fail(errno, path_);
}

void ExtractedFile::open(int at, const std::string& name, unsigned mode) {
    auto flags = O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (options_.overwrite ? O_TRUNC : O_EXCL);
    fd_.reset(::openat(at, name.c_str(), flags, mode & 0777));
    if (!fd_ && errno == EEXIST) throw in_the_way(path_);
    if (!fd_) fail(errno, path_);
    if (file_.get_or<std::string_view>("encoding", "") != "blobvec") write_at(fd_.get(), text_of(file_), 0, path_);
}

void ExtractedFile::write(const FilePiece& piece, std::string_view bytes) {
    if (!fd_) throw Error(EPROTO, path_ + ": pieces of what is no regular file");
    if (bytes.size() != piece.size)
        throw Error(EPROTO, path_ + ": blob " + piece.blob.to_string() + " has another size than the archive says");
    write_at(fd_.get(), bytes, piece.offset, path_);
}

void ExtractedFile::finish() {
    if (!fd_) return;
    if (auto size = file_.get_optional<std::uint64_t>("size"))
        if (::ftruncate(fd_.get(), static_cast<off_t>(*size)) < 0) fail(errno, path_);
    if (::fchmod(fd_.get(), file_.get<mode_t>("mode") & options_.mask) < 0) fail(errno, path_);
    set_time(fd_.get(), file_, path_);
}

} // namespace flux::file_archive
