#include "agent_files.hpp"

#include <flux/file_descriptor.hpp>
#include <flux/parse_integer.hpp>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::job_exec {
namespace {

void write_line(const std::string& path, int flags, std::string line) {
    line += '\n';
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0600));
    if (!fd) throw Error(errno).while_doing(path);
    for (std::string_view rest = line; !rest.empty();) {
        auto count = ::write(fd.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw Error(errno).while_doing(path);
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!(text << file.rdbuf())) throw Error(EIO, path + ": cannot be read");
    return std::move(text).str();
}

} // namespace

AgentFiles::AgentFiles(const std::string& rundir, std::uint32_t rank)
    : directory_(rundir + "/exec-" + std::to_string(rank)) {
    if (::mkdir(directory_.c_str(), 0700) < 0 && errno != EEXIST) throw Error(errno).while_doing(directory_);
}

void AgentFiles::create(JobId id, JsonView launch) const { write_line(path(id), O_CREAT | O_TRUNC, launch.dump()); }

void AgentFiles::append(const ShellReport& report) const {
    auto line = report.encode();
    write_line(path(report.id), O_APPEND, line.dump());
}

void AgentFiles::remove(JobId id) const noexcept { ::unlink(path(id).c_str()); }

void AgentFiles::read_all(const std::function<void(JobId, JsonView, ShellReport)>& visit,
                          const std::function<void(JobId, const Error&)>& on_failure) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        auto number = parse_integer<std::uint64_t>(entry.path().filename().string());
        if (!number) continue;
        JobId id(*number);
        try {
            auto text = read_file(entry.path());
            // A line without its end was not written out.
            auto first_end = text.find('\n');
            auto last_end = text.rfind('\n');
            if (first_end == std::string::npos) throw Error(EINVAL, "it is not complete");
            auto launch = Json::parse(std::string_view(text).substr(0, first_end));
            ShellReport last(id);
            if (last_end != first_end) {
                auto begin = text.rfind('\n', last_end - 1) + 1;
                auto line = Json::parse(std::string_view(text).substr(begin, last_end - begin));
                last = ShellReport::decode(line);
            }
            visit(id, launch, std::move(last));
        } catch (const Error& error) {
            on_failure(id, error.while_doing(entry.path()));
        }
    }
}

} // namespace flux::job_exec
