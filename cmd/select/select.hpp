// Which jobs a command is about: their ids, their users, their states.
#pragma once

#include "cmd/options/parse.hpp"

#include <flux/job_id.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flux::select {

/// Stands for every user.
inline constexpr std::uint32_t all_users = 0xFFFFFFFF;

/// The user of `NAME`, `UID` or `all`. \throws Error EINVAL `Invalid user X specified`
std::uint32_t user(std::string_view text);
/// The user of this option, by default the one who runs the command.
std::uint32_t user_option(const options::Parsed& parsed, std::string_view option = "user");
/// `root`; the number when there is no such user.
std::string user_name(std::uint32_t userid);

/// One id. \throws Exit when it is none.
JobId job_id(const options::Parsed& parsed, std::string_view text);
/// All operands as ids, at least `least`. \throws Exit
std::vector<JobId> job_ids(const options::Parsed& parsed, std::size_t least = 0);

/// Mask of state names, with those for several states (`pending`). \throws Error EINVAL `Invalid state specified: X`
int state_mask(const std::vector<std::string>& names);

/// Number of a signal: `15`, `TERM`, `SIGTERM`, in any case. \throws Error EINVAL
int signal_number(std::string_view text);

} // namespace flux::select
