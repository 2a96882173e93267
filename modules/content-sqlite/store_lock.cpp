#include "store_lock.hpp"

#include <flux/error.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace flux {
namespace {

std::string self_description() {
    utsname host;
    ::uname(&host);
    std::time_t now = ::time(nullptr);
    tm utc;
    ::gmtime_r(&now, &utc);
    char since[32];
    std::strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return fmt::format("host {}, pid {}, since {}\n", host.nodename, ::getpid(), since);
}

std::string read_holder(int fd) {
    char text[256];
    auto size = ::pread(fd, text, sizeof text, 0);
    std::string_view line(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    line = line.substr(0, line.find('\n'));
    return line.empty() ? "an unnamed process" : std::string(line);
}

} // namespace

StoreLock::StoreLock(const std::string& path, const std::string& what)
    : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw Error(errno, fmt::format("cannot open {}: {}", path, errno_text(errno)));
    // A lock of the open file, not of the process: no other descriptor's close() can drop it.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(fd_, F_OFD_SETLK, &lock) < 0) {
        int errnum = errno;
        auto holder = read_holder(fd_);
        ::close(fd_);
        if (errnum == EAGAIN || errnum == EACCES) throw Error(EBUSY, fmt::format("{} is in use by {}", what, holder));
        throw Error(errnum, fmt::format("cannot lock {}: {}", path, errno_text(errnum)));
    }
    auto text = self_description();
    // What is written only informs; a full disk does not keep the holder from going on.
    if (::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, text.data(), text.size(), 0) < 0) errno = 0;
}

StoreLock::~StoreLock() { ::close(fd_); }

} // namespace flux
