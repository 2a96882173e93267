#include "cmd/submission/pattern.hpp"

#include <flux/error.hpp>

#include <cerrno>
#include <fnmatch.h>
#include <regex>
#include <string>

namespace flux::submission {

std::function<bool(std::string_view)> compile_pattern(std::string_view pattern) {
    if (!pattern.starts_with('/')) {
        return [glob = std::string(pattern)](std::string_view name) {
            return ::fnmatch(glob.c_str(), std::string(name).c_str(), 0) == 0;
        };
    }
    auto text = pattern.substr(1);
    if (text.ends_with('/')) text.remove_suffix(1);
    try {
        std::regex regex(text.begin(), text.end());
        return [regex = std::move(regex)](std::string_view name) {
            return std::regex_search(name.begin(), name.end(), regex, std::regex_constants::match_continuous);
        };
    } catch (const std::regex_error& error) {
        throw Error(EINVAL, "'" + std::string(pattern) + "': " + error.what());
    }
}

} // namespace flux::submission
