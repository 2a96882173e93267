// posix_spawn and what it lacks: a search in the child's PATH, a fallback directory, scripts without an interpreter
// line.
#include <flux/file_descriptor.hpp>
#include <flux/spawn.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>

namespace flux {
namespace {

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

bool is_variable(std::string_view entry, std::string_view name) noexcept {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

/// The directory to start in, kept open: what was checked is what is entered. Not set: that of the caller.
int open_directory(const Command& command, FileDescriptor& directory) noexcept {
    int errnum = 0;
    for (const auto* path : {&command.cwd, &command.fallback_cwd}) {
        if (path->empty()) continue;
        directory.reset(::open(path->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (directory && ::faccessat(directory.get(), ".", X_OK, 0) == 0) return 0;
        errnum = errno;
    }
    return errnum;
}

/// As execvp searches, but in the PATH that the child will have.
int find_program(const Command& command, int directory, std::string& program) noexcept {
    const auto& name = command.argv[0];
    if (name.empty()) return ENOENT;
    if (name.find('/') != std::string::npos) {
        program = name;
        return 0;
    }
    auto path = command.getenv("PATH");
    if (!path.data()) path = default_path;
    int errnum = ENOENT;
    for (;;) {
        auto end = path.find(':');
        program.assign(path.substr(0, end));
        if (!program.empty()) program += '/';
        program += name;
        struct stat info;
        if (::fstatat(directory, program.c_str(), &info, 0) == 0 && S_ISREG(info.st_mode)) {
            if (::faccessat(directory, program.c_str(), X_OK, 0) == 0) return 0;
            errnum = EACCES;
        }
        if (end == std::string_view::npos) return errnum;
        path.remove_prefix(end + 1);
    }
}

class SpawnSetup {
public:
    SpawnSetup() {
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawn_file_actions_init(&actions_);
    }
    ~SpawnSetup() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;

    int prepare(const Command& command, int directory, const std::vector<int>& fds) {
        sigset_t signals;
        ::sigemptyset(&signals);
        ::posix_spawnattr_setsigmask(&attributes_, &signals);
        ::sigfillset(&signals);
        ::posix_spawnattr_setsigdefault(&attributes_, &signals);
        int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        if (command.session || !command.terminal.empty())
            flags |= POSIX_SPAWN_SETSID; // its leader leads a group too
        else if (command.process_group)
            flags |= POSIX_SPAWN_SETPGROUP; // group 0: the child's own
        ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
        if (directory >= 0) {
            if (int rc = ::posix_spawn_file_actions_addfchdir_np(&actions_, directory)) return rc;
        }
        return place(fds, command.terminal);
    }

    pid_t run(const std::string& program, char* const* argv, char* const* env) const noexcept {
        pid_t pid;
        int rc = ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, argv, env);
        return rc == 0 ? pid : -rc;
    }

private:
    // A source that lies where another target goes would be overwritten before its turn: it is moved up first.
    int place(const std::vector<int>& fds, const std::string& terminal) {
        int count = static_cast<int>(fds.size());
        for (int target = 0; target < count; ++target) {
            int source = fds[static_cast<std::size_t>(target)];
            int rc;
            if (target <= STDERR_FILENO && !terminal.empty()) {
                // The first terminal that the leader of a session opens becomes the session's.
                rc = target == STDIN_FILENO
                         ? ::posix_spawn_file_actions_addopen(&actions_, target, terminal.c_str(), O_RDWR, 0)
                         : ::posix_spawn_file_actions_adddup2(&actions_, STDIN_FILENO, target);
            } else if (source < 0) {
                rc = ::posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_RDWR, 0);
            } else {
                if (source < count && source != target) {
                    moved_.emplace_back(::fcntl(source, F_DUPFD_CLOEXEC, count));
                    if (!moved_.back()) return errno;
                    source = moved_.back().get();
                }
                rc = ::posix_spawn_file_actions_adddup2(&actions_, source, target);
            }
            if (rc != 0) return rc;
        }
        return ::posix_spawn_file_actions_addclosefrom_np(&actions_, count);
    }

    posix_spawnattr_t attributes_;
    posix_spawn_file_actions_t actions_;
    std::vector<FileDescriptor> moved_;
};

// The strings are not written to: exec's signature is older than const.
std::vector<char*> pointers(const std::vector<std::string>& strings, std::size_t room = 0) {
    std::vector<char*> result(room);
    result.reserve(room + strings.size() + 1);
    for (const auto& string : strings) result.push_back(const_cast<char*>(string.c_str()));
    result.push_back(nullptr);
    return result;
}

} // namespace

std::string_view Command::getenv(std::string_view name) const noexcept {
    for (const auto& entry : env) {
        if (is_variable(entry, name)) return std::string_view(entry).substr(name.size() + 1);
    }
    return {};
}

void Command::setenv(std::string_view name, std::string_view value) {
    unsetenv(name);
    std::string entry(name);
    entry += '=';
    entry += value;
    env.push_back(std::move(entry));
}

void Command::unsetenv(std::string_view name) noexcept {
    std::erase_if(env, [name](const std::string& entry) { return is_variable(entry, name); });
}

std::vector<std::string> current_environment() {
    std::vector<std::string> result;
    for (char** entry = environ; entry && *entry; ++entry) result.emplace_back(*entry);
    return result;
}

pid_t spawn_process(const Command& command, const std::vector<int>& fds) noexcept {
    if (command.argv.empty()) return -EINVAL;
    FileDescriptor directory;
    if (int errnum = open_directory(command, directory)) return -errnum;
    std::string program;
    if (int errnum = find_program(command, directory ? directory.get() : AT_FDCWD, program)) return -errnum;
    SpawnSetup setup;
    if (int errnum = setup.prepare(command, directory.get(), fds)) return -errnum;
    auto env = pointers(command.env);
    auto argv = pointers(command.argv, 1); // room for the shell of a script without an interpreter line
    pid_t pid = setup.run(program, argv.data() + 1, env.data());
    if (pid != -ENOEXEC) return pid;
    std::string shell = "/bin/sh";
    argv[0] = shell.data();
    argv[1] = program.data();
    return setup.run(shell, argv.data(), env.data());
}

} // namespace flux
