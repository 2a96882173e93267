#include "cmd/submission/substitute.hpp"

#include <flux/error.hpp>

#include <algorithm>
#include <cerrno>

namespace flux::submission {

std::string substitute(std::string_view text, const Tags& tags) {
    std::string result;
    for (auto rest = text; !rest.empty();) {
        auto open = rest.find('{');
        result += rest.substr(0, open);
        if (open == std::string_view::npos) break;
        rest.remove_prefix(open);
        if (rest.starts_with("{{")) {
            auto close = rest.find("}}");
            auto size = close == std::string_view::npos ? rest.size() : close + 2;
            result += rest.substr(0, size);
            rest.remove_prefix(size);
            continue;
        }
        auto close = rest.find('}');
        if (close == std::string_view::npos)
            throw Error(EINVAL, "Invalid replacement '" + std::string(text) + "': '{' is not closed");
        auto tag = rest.substr(1, close - 1);
        auto value = tags(tag);
        if (!value)
            throw Error(EINVAL,
                        "Invalid replacement '" + std::string(text) + "': unknown tag '{" + std::string(tag) + "}'");
        result += *value;
        rest.remove_prefix(close + 1);
    }
    return result;
}

} // namespace flux::submission
