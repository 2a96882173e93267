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

std::optional<std::string> builtin(std::string_view name) {
    if (name == "confdir") return sysconfdir() + "/flux";
    if (name == "libexecdir") return libexecdir();
    if (name == "datadir") return datadir();
    if (name == "exec_path") return libexecdir() + "/cmd";
    if (name == "connector_path") return libdir() + "/flux/connectors";
    if (name == "module_path") return moduledir();
    if (name == "rc1_path") return "flux modprobe rc1";
    if (name == "rc3_path") return "flux modprobe rc3";
    if (name == "pmi_library_path") return libdir() + "/flux/libpmi.so";
    if (name == "shell_path") return libexecdir() + "/flux-shell";
    if (name == "shell_pluginpath") return shell_plugindir();
    if (name == "shell_initrc") return sysconfdir() + "/flux/shell/initrc.lua";
    if (name == "jobtap_pluginpath") return jobtap_plugindir();
    if (name == "upmi_pluginpath") return libdir() + "/flux/upmi/plugins";
    if (name == "man_path") return prefix() + "/share/man";
    if (name == "no_docs_path") return datadir() + "/.nodocs";
    if (name == "cmdhelp_pattern") return datadir() + "/help.d/*.json";
    if (name == "rundir") return "/run/flux";
    // No interpreter is used.
    if (name == "lua_cpath_add" || name == "lua_path_add" || name == "python_path" || name == "python_wrapper")
        return "";
    return std::nullopt;
}

} // namespace flux::paths
