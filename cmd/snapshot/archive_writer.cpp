#include "cmd/snapshot/archive_writer.hpp"

#include <flux/error.hpp>

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::snapshot {
namespace {

struct FreeEntry {
    void operator()(archive_entry* entry) const noexcept { ::archive_entry_free(entry); }
};
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

constexpr mode_t permissions = 0644;

Entry make_entry(const std::string& name, mode_t type) {
    Entry entry(::archive_entry_new());
    ::archive_entry_set_pathname_utf8(entry.get(), name.c_str());
    ::archive_entry_set_filetype(entry.get(), type);
    ::archive_entry_set_perm(entry.get(), permissions);
    return entry;
}

mode_t umask_of_process() {
    auto mask = ::umask(0);
    ::umask(mask);
    return mask;
}

} // namespace

void ArchiveWriter::Free::operator()(archive* archive) const noexcept { ::archive_write_free(archive); }

ArchiveWriter::ArchiveWriter(const std::string& path) : path_(path), archive_(::archive_write_new()) {
    if (path == "-") {
        if (::archive_write_set_format_pax_restricted(archive_.get()) != ARCHIVE_OK) fail();
        if (::archive_write_open_fd(archive_.get(), STDOUT_FILENO) != ARCHIVE_OK) fail();
        return;
    }
    if (::archive_write_set_format_filter_by_ext(archive_.get(), path.c_str()) != ARCHIVE_OK)
        throw Error(EINVAL, path + ": its name is that of no known kind of archive");
    open_file();
    if (::archive_write_open_fd(archive_.get(), file_.get()) != ARCHIVE_OK) fail();
}

ArchiveWriter::~ArchiveWriter() {
    if (archive_) ::archive_write_fail(archive_.get());
    archive_.reset();
    if (!partial_.empty()) ::unlink(partial_.c_str());
}

// Beside its place, unless something is there that is to be written to: a pipe, a device.
void ArchiveWriter::open_file() {
    struct stat info {};
    if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        file_.reset(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    } else {
        auto name = path_ + ".XXXXXX";
        file_.reset(::mkostemp(name.data(), O_CLOEXEC));
        if (file_) partial_ = name;
        if (file_ && ::fchmod(file_.get(), 0666 & ~umask_of_process()) < 0) file_.reset();
    }
    if (!file_) throw Error(errno, path_ + ": " + errno_text(errno));
}

void ArchiveWriter::fail(const std::string& name) {
    auto errnum = ::archive_errno(archive_.get());
    const char* text = ::archive_error_string(archive_.get());
    auto where = name.empty() ? path_ : path_ + ": " + name;
    throw Error(errnum > 0 ? errnum : EIO, where + ": " + (text ? text : "cannot be written"));
}

void ArchiveWriter::begin_file(const std::string& name, std::uint64_t size, std::int64_t time) {
    auto entry = make_entry(name, AE_IFREG);
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    if (time != 0) {
        ::archive_entry_set_mtime(entry.get(), time, 0);
        ::archive_entry_set_uid(entry.get(), ::getuid());
        ::archive_entry_set_gid(entry.get(), ::getgid());
    }
    if (::archive_write_header(archive_.get(), entry.get()) != ARCHIVE_OK) fail(name);
}

void ArchiveWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        auto count = ::archive_write_data(archive_.get(), bytes.data(), bytes.size());
        if (count <= 0) fail();
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

void ArchiveWriter::add_link(const std::string& name, const std::string& target) {
    auto entry = make_entry(name, AE_IFLNK);
    ::archive_entry_set_size(entry.get(), 0);
    ::archive_entry_set_symlink_utf8(entry.get(), target.c_str());
    if (::archive_write_header(archive_.get(), entry.get()) != ARCHIVE_OK) fail(name);
}

void ArchiveWriter::close() {
    if (::archive_write_close(archive_.get()) != ARCHIVE_OK) fail();
    archive_.reset();
    if (partial_.empty()) return;
    if (::fsync(file_.get()) < 0 || ::rename(partial_.c_str(), path_.c_str()) < 0)
        throw Error(errno, path_ + ": " + errno_text(errno));
    partial_.clear();
}

} // namespace flux::snapshot
