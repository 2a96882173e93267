#include "cmd/select/select.hpp"

#include <flux/error.hpp>
#include <flux/job_state.hpp>
#include <flux/parse_integer.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <pwd.h>
#include <unistd.h>

namespace flux::select {

std::uint32_t user(std::string_view text) {
    if (text == "all") return all_users;
    if (auto number = parse_integer<std::uint32_t>(text)) return *number;
    if (const auto* entry = ::getpwnam(std::string(text).c_str())) return entry->pw_uid;
    throw Error(EINVAL, "Invalid user " + std::string(text) + " specified");
}

std::uint32_t user_option(const options::Parsed& parsed, std::string_view option) {
    auto text = parsed.find(option);
    return text ? user(*text) : ::getuid();
}

std::string user_name(std::uint32_t userid) {
    const auto* entry = ::getpwuid(userid);
    return entry ? entry->pw_name : std::to_string(userid);
}

JobId job_id(const options::Parsed& parsed, std::string_view text) {
    if (auto id = JobId::try_parse(text)) return *id;
    throw parsed.usage_error("invalid JobID value: '" + std::string(text) + "'");
}

std::vector<JobId> job_ids(const options::Parsed& parsed, std::size_t least) {
    if (parsed.operands().size() < least) throw parsed.usage_error();
    std::vector<JobId> ids;
    for (const auto& operand : parsed.operands()) ids.push_back(job_id(parsed, operand));
    return ids;
}

int state_mask(const std::vector<std::string>& names) {
    int mask = 0;
    for (const auto& name : names) {
        auto states = parse_job_state(name);
        if (!states) throw Error(EINVAL, "Invalid state specified: " + name);
        mask |= *states;
    }
    return mask;
}

int signal_number(std::string_view text) {
    auto number = parse_integer<int>(text);
    if (number && *number > 0 && *number < NSIG) return *number;
    std::string name(text);
    if (::strncasecmp(name.c_str(), "SIG", 3) == 0) name.erase(0, 3);
    for (int signum = 1; signum < NSIG && !number; ++signum) {
        const char* known = ::sigabbrev_np(signum);
        if (known && ::strcasecmp(known, name.c_str()) == 0) return signum;
    }
    throw Error(EINVAL, "invalid signal '" + std::string(text) + "'");
}

} // namespace flux::select
