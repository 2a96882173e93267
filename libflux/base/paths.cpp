#include <flux/paths.hpp>

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

namespace flux::paths {
namespace {

std::string find_libdir() {
    static const char anchor = 0;
    Dl_info info{};
    if (!::dladdr(&anchor, &info) || !info.dli_fname) return "/usr/lib";
    char real[PATH_MAX];
    std::string path = ::realpath(info.dli_fname, real) ? real : info.dli_fname;
    return path.substr(0, path.rfind('/'));
}

std::string find_prefix() {
    // FLUX_LIBDIR is relative to the prefix: `lib`, or `lib/x86_64-linux-gnu`.
    constexpr std::string_view relative = "/" FLUX_LIBDIR;
    const auto& all = libdir();
    if (all.ends_with(relative)) return all.substr(0, all.size() - relative.size());
    return all.substr(0, all.rfind('/'));
}

} // namespace

// Each is computed once; the first user pays.
const std::string& libdir() {
    static const std::string path = find_libdir();
    return path;
}
const std::string& prefix() {
    static const std::string path = find_prefix();
    return path;
}
const std::string& bindir() {
    static const std::string path = prefix() + "/bin";
    return path;
}
const std::string& libexecdir() {
    static const std::string path = prefix() + "/libexec/flux";
    return path;
}
const std::string& datadir() {
    static const std::string path = prefix() + "/share/flux";
    return path;
}
const std::string& sysconfdir() {
    static const std::string path = prefix() == "/usr" ? "/etc" : prefix() + "/etc";
    return path;
}
const std::string& moduledir() {
    static const std::string path = libdir() + "/flux/modules";
    return path;
}
const std::string& shell_plugindir() {
    static const std::string path = libdir() + "/flux/shell/plugins";
    return path;
}
const std::string& jobtap_plugindir() {
    static const std::string path = libdir() + "/flux/job-manager/plugins";
    return path;
}

} // namespace flux::paths
