// From what people call an instance to the URI of its broker (cli.md 6.17).
#pragma once

#include "cmd/context.hpp"

#include <string>

namespace flux::uri {

/// `[SCHEME:]TARGET[?local|?remote|?wait]`: `jobid:` (the default) with ids joined by `/`, `.`, `..`, a leading `/` for
/// the root instance; `pid:`; `local:` and `ssh:` stand for themselves.
/// \param wait  wait for a job that has no URI yet.
/// \throws Error naming the target.
std::string resolve(cmd::Context& context, const std::string& target, bool wait = false);

/// `ssh://HOST/PATH` as `local:///PATH`.
std::string to_local(const std::string& uri);
/// The URI by which this process reaches an instance: a local one when it is on this host.
std::string reachable(const std::string& uri);
/// `local://PATH` as `ssh://HOST/PATH` with the name of this host.
std::string to_remote(const std::string& uri);

} // namespace flux::uri
