#include <flux/error.hpp>

#include <cerrno>
#include <cmd/output/color.hpp>
#include <string>

namespace flux::output {

bool color_wanted(bool given, std::optional<std::string_view> when, bool terminal, const char* no_color) {
    if (!given) return terminal && !(no_color && *no_color);
    const auto value = when.value_or("always");
    if (value == "always") return true;
    if (value == "never") return false;
    if (value == "auto") return terminal;
    throw Error(EINVAL, "--color: '" + std::string(value) + "' is none of always, never, auto");
}

} // namespace flux::output
