// Where the parts of this installation (or build tree, which has the same shape) are: found from where libflux.so lies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flux::paths {

const std::string& prefix();
const std::string& libdir();     ///< PREFIX/lib
const std::string& bindir();     ///< PREFIX/bin
const std::string& libexecdir(); ///< PREFIX/libexec/flux: flux-broker, flux-shell, flux-launcher, external commands
const std::string& datadir();    ///< PREFIX/share/flux
const std::string& sysconfdir(); ///< PREFIX/etc, or /etc for prefix /usr
const std::string& moduledir();  ///< LIBDIR/flux/modules
const std::string& shell_plugindir();  ///< LIBDIR/flux/shell/plugins
const std::string& jobtap_plugindir(); ///< LIBDIR/flux/job-manager/plugins

/// Built-in values by the names that `flux config builtin` and `broker.conf-builtin` give them; nothing for others.
std::optional<std::string> builtin(std::string_view name);

} // namespace flux::paths
