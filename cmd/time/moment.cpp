#include "cmd/time/moment.hpp"

#include <flux/duration.hpp>
#include <flux/error.hpp>
#include <flux/file_descriptor.hpp>
#include <flux/parse_integer.hpp>

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <regex>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace flux::moment {
namespace {

double now() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool matches(const std::string& text, const char* pattern) {
    return std::regex_search(text, std::regex(pattern, std::regex::icase));
}

/// The output of `date --date=TEXT +%s.%N`; nothing when it refuses.
std::string ask_date(const std::string& text) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) throw Error(errno, "pipe: " + errno_text(errno));
    FileDescriptor reader(ends[0]), writer(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string argument = "--date=" + text;
    char program[] = "date", format[] = "+%s.%N";
    char* argv[] = {program, argument.data(), format, nullptr};
    pid_t pid = 0;
    int errnum = ::posix_spawnp(&pid, program, &actions, nullptr, argv, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (errnum != 0) throw Error(errnum, "date: " + errno_text(errnum));
    writer.reset();
    std::string output;
    char chunk[256];
    for (ssize_t size; (size = ::read(reader.get(), chunk, sizeof chunk)) > 0;)
        output.append(chunk, static_cast<std::size_t>(size));
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status == 0 ? output : std::string();
}

} // namespace

double parse(std::string_view text) {
    if (text == "now") return now();
    if (text.starts_with('+')) return now() + parse_duration(text.substr(1));
    if (text.starts_with('-')) return now() - parse_duration(text.substr(1));
    std::string words(text);
    if (words.starts_with("in ")) words.erase(0, 3);
    // date(1) counts `tomorrow` from the present time of day.
    if (!matches(words,
                 "[0-9]\\s*[ap]\\.?m|[0-9]:[0-9]|\\b(now|noon|midnight|(second|sec|minute|min|hour)s?)\\b|T[0-9]"))
        words = "00:00 " + words;
    auto output = ask_date(words);
    if (output.empty()) throw Error(EINVAL, "invalid date or time '" + std::string(text) + "'");
    return std::stod(output);
}

} // namespace flux::moment
