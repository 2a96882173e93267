#include "cmd/archive/scan.hpp"

#include <flux/base64.hpp>
#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace flux::archive {
namespace {

[[noreturn]] void fail(const std::string& path) { throw Error(errno, path + ": " + errno_text(errno)); }

} // namespace

ScannedFile::ScannedFile(const std::string& path, std::uint64_t chunk_size, std::uint64_t threshold) : path_(path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) < 0) fail(path);
    auto name = archived_name(path);
    object = Json::object("path", name, "mode", info.st_mode, "mtime", info.st_mtime, "ctime", info.st_ctime);
    if (S_ISDIR(info.st_mode)) return;
    if (S_ISLNK(info.st_mode)) {
        object.set("data", fs::read_symlink(path).string());
        return;
    }
    if (!S_ISREG(info.st_mode)) throw Error(EINVAL, path + ": unsupported file type");
    file_.reset(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file_ || ::fstat(file_.get(), &info) < 0) fail(path);
    if (!S_ISREG(info.st_mode)) throw Error(EINVAL, path + ": unsupported file type");
    auto size = static_cast<std::uint64_t>(info.st_size);
    object.set("size", size);
    bool small = size <= threshold;
    find_regions(small ? 0 : chunk_size);
    if (regions.empty()) return;
    if (!small) {
        object.set("encoding", "blobvec");
        return;
    }
    regions.clear();
    put_text(read(Region{0, size}));
}

void ScannedFile::find_regions(std::uint64_t chunk_size) {
    for (off_t data = 0; (data = ::lseek(file_.get(), data, SEEK_DATA)) >= 0;) {
        auto hole = ::lseek(file_.get(), data, SEEK_HOLE);
        if (hole < 0) fail(path_);
        auto offset = static_cast<std::uint64_t>(data), end = static_cast<std::uint64_t>(hole);
        while (offset < end) {
            auto size = chunk_size ? std::min(chunk_size, end - offset) : end - offset;
            regions.push_back({offset, size});
            offset += size;
        }
        data = hole;
    }
    if (errno != ENXIO) fail(path_);
}

void ScannedFile::put_text(const std::string& bytes) {
    try {
        object.set("data", Json(bytes));
        object.set("encoding", "utf-8");
    } catch (const Error&) {
        // Not text.
        object.set("data", base64_encode(bytes));
        object.set("encoding", "base64");
    }
}

std::string ScannedFile::read(const Region& region) const {
    std::string bytes(region.size, '\0');
    for (std::size_t done = 0; done < bytes.size();) {
        auto count =
            ::pread(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(region.offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path_);
        if (count == 0) throw Error(EINVAL, path_ + ": file shrinks while it is read");
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

void walk(const std::string& path, const std::function<void(const std::string&)>& visit) {
    std::error_code failure;
    auto status = fs::symlink_status(path, failure);
    if (!fs::exists(status)) throw Error(ENOENT, path + ": " + errno_text(ENOENT));
    if (fs::is_directory(status)) {
        std::vector<std::string> names;
        for (fs::directory_iterator entry(path, failure), end; !failure && entry != end; entry.increment(failure))
            names.push_back(entry->path().filename());
        if (failure) throw Error(failure.value(), path + ": " + failure.message());
        std::sort(names.begin(), names.end());
        for (const auto& name : names) walk(path.ends_with('/') ? path + name : path + "/" + name, visit);
    }
    if (archived_name(path) != ".") visit(path);
}

std::string archived_name(std::string_view path) {
    std::string name;
    auto rest = path;
    while (!rest.empty()) {
        auto part = rest.substr(0, rest.find('/'));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        if (part.empty() || part == ".") continue;
        if (part == "..") throw Error(EINVAL, std::string(path) + ": an archive has no '..' in paths");
        name += (name.empty() ? "" : "/") + std::string(part);
    }
    return name.empty() ? "." : name;
}

} // namespace flux::archive
