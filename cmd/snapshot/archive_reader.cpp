#include "cmd/snapshot/archive_reader.hpp"

#include <flux/error.hpp>

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace flux::snapshot {
namespace {

constexpr std::size_t block_size = 64 * 1024;

bool good(int status) { return status == ARCHIVE_OK || status == ARCHIVE_WARN; }

} // namespace

std::vector<std::string> key_of_path(std::string_view path) {
    std::vector<std::string> names;
    while (!path.empty()) {
        auto name = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(path.size(), name.size() + 1));
        if (name.empty() || name == ".") continue;
        if (name.find('.') != name.npos) throw Error(EINVAL, "no key can have a name with a dot");
        names.emplace_back(name);
    }
    if (names.empty()) throw Error(EINVAL, "no name of a key");
    return names;
}

void ArchiveReader::Free::operator()(archive* archive) const noexcept { ::archive_read_free(archive); }

ArchiveReader::ArchiveReader(std::string path, int fd)
    : path_(std::move(path)), file_(fd), archive_(::archive_read_new()) {
    ::archive_read_support_filter_all(archive_.get());
    // All but mtree, which takes any text for a list of files that it then reads, and but an empty file.
    for (auto support :
         {::archive_read_support_format_tar, ::archive_read_support_format_zip, ::archive_read_support_format_cpio,
          ::archive_read_support_format_iso9660, ::archive_read_support_format_7zip, ::archive_read_support_format_ar,
          ::archive_read_support_format_cab, ::archive_read_support_format_lha, ::archive_read_support_format_rar,
          ::archive_read_support_format_rar5, ::archive_read_support_format_warc, ::archive_read_support_format_xar})
        support(archive_.get());
}

ArchiveReader ArchiveReader::open(const std::string& path) {
    auto fd = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error(errno, path + ": " + errno_text(errno));
    ArchiveReader reader(path, fd);
    reader.begin(::archive_read_open_fd(reader.archive_.get(), fd, block_size));
    return reader;
}

ArchiveReader ArchiveReader::of_bytes(std::string_view bytes) {
    ArchiveReader reader("archive", -1);
    reader.begin(::archive_read_open_memory(reader.archive_.get(), bytes.data(), bytes.size()));
    return reader;
}

void ArchiveReader::begin(int status) {
    if (!good(status)) fail();
}

void ArchiveReader::fail(const std::string& why) {
    auto errnum = ::archive_errno(archive_.get());
    const char* text = ::archive_error_string(archive_.get());
    auto where = name_.empty() ? path_ : path_ + ": " + name_;
    throw Error(errnum > 0 && why.empty() ? errnum : EINVAL, where + ": " +
                                                                 (!why.empty() ? why
                                                                  : text       ? text
                                                                               : "not an archive"));
}

bool ArchiveReader::next(Entry& entry) {
    for (;;) {
        if (!name_.empty() && !good(::archive_read_data_skip(archive_.get()))) fail();
        if (!name_.empty()) name_ = "after " + name_;
        auto begin = ::archive_filter_bytes(archive_.get(), 0);
        archive_entry* raw = nullptr;
        auto status = ::archive_read_next_header(archive_.get(), &raw);
        if (status == ARCHIVE_EOF) {
            require_end(::archive_filter_bytes(archive_.get(), 0) - begin);
            return false;
        }
        if (!good(status)) fail();
        entry = Entry();
        const char* name = ::archive_entry_pathname_utf8(raw);
        if (!name) fail("an entry whose name is not UTF-8");
        name_ = entry.name = name;
        auto type = ::archive_entry_filetype(raw);
        if ((type != AE_IFREG && type != AE_IFLNK) || ::archive_entry_hardlink(raw)) continue;
        try {
            entry.path = key_of_path(name_);
        } catch (const Error& error) {
            fail(error.text());
        }
        entry.time = ::archive_entry_mtime(raw);
        if (type == AE_IFLNK) {
            const char* target = ::archive_entry_symlink_utf8(raw);
            if (!target || !*target) fail("a symbolic link without a target in UTF-8");
            entry.link = target;
        } else if (::archive_entry_size_is_set(raw)) {
            auto size = ::archive_entry_size(raw);
            if (size < 0) fail("its size is negative");
            entry.size = static_cast<std::uint64_t>(size);
        }
        return true;
    }
}

// A tar archive ends with a block of zeros, which libarchive does not insist on.
void ArchiveReader::require_end(std::int64_t last_bytes) {
    constexpr std::int64_t tar_block = 512;
    bool is_tar = (::archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    if (is_tar && last_bytes < tar_block) fail("the archive is cut short");
}

std::string ArchiveReader::read(std::size_t limit) {
    std::string bytes;
    while (bytes.size() < limit) {
        auto begin = bytes.size();
        // Grows with what is there, not with what the archive says is there.
        bytes.resize(std::min(limit, begin + std::max(begin, block_size)));
        auto count = ::archive_read_data(archive_.get(), bytes.data() + begin, bytes.size() - begin);
        if (count < 0) fail();
        bytes.resize(begin + static_cast<std::size_t>(count));
        if (count == 0) break;
    }
    return bytes;
}

} // namespace flux::snapshot
