#include "files.hpp"

#include <flux/error.hpp>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace flux::shell {

void OutputFile::write(std::string_view data) {
    while (!data.empty()) {
        auto count = ::write(fd_.get(), data.data(), data.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw Error(errno, path_ + ": " + errno_text(errno));
        data.remove_prefix(static_cast<std::size_t>(count));
    }
}

OutputFile& OutputFiles::open(const std::string& path, int flags) {
    auto found = files_.find(path);
    if (found != files_.end()) return found->second;
    int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0) throw Error(errno, "open: " + path + ": " + errno_text(errno));
    return files_.try_emplace(path, path, fd).first->second;
}

} // namespace flux::shell
