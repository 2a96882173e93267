// Exit codes of commands.
#pragma once

namespace flux::options::exit_code {

inline constexpr int success = 0;
inline constexpr int failure = 1;          // also "nothing matched"
inline constexpr int usage = 2;            // of listing and submission commands; the plain ones exit with `failure`
inline constexpr int unreachable = 68;     // exec: no route to a host
inline constexpr int not_executable = 126; // exec: permission denied
inline constexpr int command_not_found = 127;
inline constexpr int signal_base = 128; // plus the signal that ended a task

} // namespace flux::options::exit_code
