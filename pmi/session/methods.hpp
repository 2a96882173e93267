// The ways to begin a session. Each function throws Error when its way does not lead to the others.
#pragma once

#include <pmi/session/session.hpp>

namespace flux::pmi {

/// Over the socket in PMI_FD.
std::unique_ptr<Session> open_simple();
/// Through the C interface of PMI-1 or PMI-2 in a shared library.
/// \param path  as dlopen takes it; empty for `libpmi.so` or `libpmi2.so`.
std::unique_ptr<Session> open_libpmi(const std::string& path, bool foreign_only);
std::unique_ptr<Session> open_libpmi2(const std::string& path, bool foreign_only);
/// Alone.
std::unique_ptr<Session> open_single();

} // namespace flux::pmi
