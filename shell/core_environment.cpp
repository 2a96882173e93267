#include "core.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flux::shell {
namespace {

std::string required_env(const char* name) {
    const char* value = std::getenv(name);
    if (!value) throw Error(EINVAL, std::string(name) + " is not in the environment");
    return value;
}

std::string host_name() {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return name;
}

// Whether the environment asks for a locale in UTF-8. To set the locale and ask it costs more than all else here.
bool wants_utf8() {
    if (std::getenv("FLUX_F58_FORCE_ASCII")) return false;
    for (auto variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* locale = std::getenv(variable);
        if (locale && *locale) return ::strcasestr(locale, "utf-8") || ::strcasestr(locale, "utf8");
    }
    return false;
}

bool make_private_directory(const std::string& path) { return ::mkdir(path.c_str(), 0700) == 0; }

} // namespace

void Core::enter_directory() {
    auto cwd = job_.jobspec.cwd();
    if (cwd.empty() || ::chdir(cwd.c_str()) == 0) return;
    log(Level::error, {}, "could not change dir to " + cwd + ": " + errno_text(errno) + ". Going to /tmp instead");
    if (::chdir("/tmp") < 0) throw Error(errno, "could not change dir to /tmp");
}

void Core::make_environment() {
    auto given = job_.jobspec.environment();
    if (given && !given.is_object()) throw Error(EINVAL, "jobspec: environment is no object");
    for (auto [name, value] : given.members()) environment_.emplace(name, value.as<std::string>());

    if (auto force = env("FLUX_F58_FORCE_ASCII")) ::setenv("FLUX_F58_FORCE_ASCII", force->c_str(), 1);
    job_.f58 = job_.id.f58plain();
    if (wants_utf8()) job_.f58.replace(0, 1, "\u0192");
    environment_.erase("FLUX_PROXY_REMOTE");
    if (!standalone()) environment_["FLUX_URI"] = required_env("FLUX_URI");
    environment_["FLUX_KVS_NAMESPACE"] = job_.guest_namespace;
    environment_["FLUX_JOB_ID"] = job_.f58;
    auto above = attribute("jobid-path").value_or("/");
    environment_["FLUX_JOB_ID_PATH"] = (above == "/" ? "" : above) + '/' + job_.f58;
    environment_["FLUX_JOB_SIZE"] = std::to_string(job_.ntasks);
    environment_["FLUX_JOB_NNODES"] = std::to_string(job_.size);
    if (environment_.contains("HOSTNAME")) environment_["HOSTNAME"] = host_name();
    make_tmpdir();
}

// A directory of the job on this node, gone with the shell.
void Core::make_tmpdir() {
    auto tmp = env("TMPDIR").value_or("/tmp");
    if (!make_private_directory(tmp) && errno != EEXIST) {
        log(Level::warning, "tmpdir", tmp + ": " + errno_text(errno) + ", using /tmp");
        environment_["TMPDIR"] = tmp = "/tmp";
    }
    auto name = "/jobtmp-" + std::to_string(job_.rank) + '-' + job_.f58;
    tmpdir_ = attribute("rundir").value_or(tmp) + name;
    if (!make_private_directory(tmpdir_)) {
        tmpdir_ = tmp + name;
        if (!make_private_directory(tmpdir_) && errno != EEXIST)
            throw Error(errno, "tmpdir: " + tmpdir_ + ": " + errno_text(errno));
    }
    environment_["FLUX_JOB_TMPDIR"] = tmpdir_;
}

void Core::remove_tmpdir() noexcept {
    if (tmpdir_.empty() || ::rmdir(tmpdir_.c_str()) == 0) return;
    std::error_code error;
    std::filesystem::remove_all(tmpdir_, error);
    if (error) log(Level::error, "tmpdir", tmpdir_ + ": " + error.message());
}

} // namespace flux::shell
