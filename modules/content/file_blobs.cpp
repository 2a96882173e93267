#include "file_blobs.hpp"

#include <flux/file_descriptor.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

namespace flux {
namespace {

[[noreturn]] void fail(const std::string& path, int errnum) {
    throw Error(errnum, fmt::format("{}: {}", path, errno_text(errnum)));
}

FileDescriptor open_file(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) fail(path, errno);
    return file;
}

// Less than `size` bytes when the file ends before.
std::string read_at(const FileDescriptor& file, const std::string& path, std::size_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        auto got = ::pread(file.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(path, errno);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

} // namespace

void FileBlobs::add(const std::string& path, std::size_t chunk_size, const std::string& tag) {
    scan(path, chunk_size, tag);
    write_record();
}

void FileBlobs::restore(const std::function<void(const Error&)>& on_error) {
    std::ifstream in(record_);
    for (std::string line; std::getline(in, line);) {
        try {
            auto file = Json::parse(line, record_);
            scan(file.get<std::string>("path"), file.get<std::size_t>("chunksize"), file.get<std::string>("tag"));
        } catch (const Error& error) {
            on_error(error);
        }
    }
}

void FileBlobs::write_record() const {
    if (record_.empty()) return;
    auto fresh = record_ + ".new";
    std::ofstream out(fresh);
    for (const auto& file : files_)
        out << Json::object("path", file.path, "chunksize", file.chunk_size, "tag", file.tag).dump() << '\n';
    out.close();
    if (!out || ::rename(fresh.c_str(), record_.c_str()) < 0) fail(record_, errno ? errno : EIO);
}

void FileBlobs::scan(const std::string& path, std::size_t chunk_size, const std::string& tag) {
    if (!path.starts_with('/')) throw Error(EINVAL, "path must be fully qualified");
    auto file = open_file(path);
    struct stat info {};
    if (::fstat(file.get(), &info) < 0) fail(path, errno);
    if (!S_ISREG(info.st_mode) || info.st_size == 0) throw Error(EINVAL, path + ": not suitable for mapping");

    std::vector<std::pair<Blobref, Part>> found;
    auto& entry = files_.emplace_back(path, chunk_size, tag);
    try {
        for (off_t data = 0; (data = ::lseek(file.get(), data, SEEK_DATA)) >= 0;) {
            auto hole = ::lseek(file.get(), data, SEEK_HOLE);
            if (hole < 0) fail(path, errno);
            auto offset = static_cast<std::size_t>(data), end = static_cast<std::size_t>(hole);
            while (offset < end) {
                auto size = chunk_size ? std::min(chunk_size, end - offset) : end - offset;
                auto bytes = read_at(file, path, offset, size);
                if (bytes.size() < size) throw Error(EINVAL, path + ": file shrinks while it is read");
                Part part{&entry, offset, size};
                found.emplace_back(hasher_(bytes), part);
                offset += size;
            }
            data = hole;
        }
        if (errno != ENXIO) fail(path, errno);
    } catch (...) {
        files_.pop_back();
        throw;
    }
    for (const auto& [ref, part] : found) parts_[ref].push_back(part);
}

void FileBlobs::remove(const std::string& tag) {
    auto of_tag = [&](const Part& part) { return part.file->tag == tag; };
    for (auto at = parts_.begin(); at != parts_.end();) {
        std::erase_if(at->second, of_tag);
        at = at->second.empty() ? parts_.erase(at) : std::next(at);
    }
    files_.remove_if([&](const File& file) { return file.tag == tag; });
    write_record();
}

std::optional<std::string> FileBlobs::load(const Blobref& ref) {
    auto found = parts_.find(ref);
    if (found == parts_.end()) return std::nullopt;
    for (const auto& part : found->second) {
        try {
            auto bytes = read_at(open_file(part.file->path), part.file->path, part.offset, part.size);
            if (hasher_(bytes) == ref) return bytes;
        } catch (const Error&) {
            // A file that is gone has changed.
        }
    }
    throw Error(EINVAL, "mapped file content has changed");
}

Json FileBlobs::stats() const {
    auto tags = Json::object();
    for (const auto& file : files_) tags.array_at(file.tag).append(file.path);
    return Json::object("tags", std::move(tags), "blobs", parts_.size());
}

} // namespace flux
