#include "options.hpp"

#include <flux/error.hpp>

#include <cerrno>
#include <string>

namespace flux::shell {
namespace {

Idset ranks_of(JsonView value, const Idset& all) {
    if (value.is_integer()) return Idset{value.as<Idset::Id>()};
    auto text = value.try_as<std::string>();
    auto ranks = text && *text != "all" ? Idset::try_parse(*text) : std::optional(all);
    if (!text || !ranks) throw Error(EINVAL, "pty.ranks: no set of task ranks: " + value.dump());
    return *ranks;
}

bool flag_of(JsonView value, std::string_view name) {
    if (!value.is_integer()) throw Error(EINVAL, "pty." + std::string(name) + ": must be a number");
    return value.as<int>() != 0;
}

} // namespace

PtyOptions PtyOptions::read(JsonView option, std::size_t ntasks) {
    PtyOptions options;
    const auto all = Idset::below(static_cast<Idset::Id>(ntasks));
    options.ranks = all;
    if (!option.is_object()) {
        if (!option.is_integer()) throw Error(EINVAL, "pty: must be a number or an object");
        if (option.as<int>() == 0) options.ranks = Idset();
        return options;
    }
    for (auto [name, value] : option.members())
        if (name != "ranks" && name != "capture" && name != "interactive")
            throw Error(EINVAL, "pty." + std::string(name) + ": unknown option");
    if (auto value = option["interactive"]) options.interactive = flag_of(value, "interactive");
    if (options.interactive) {
        options.ranks = Idset{0};
        options.capture = false;
    }
    if (auto value = option["ranks"]) options.ranks = ranks_of(value, all);
    if (auto value = option["capture"]) options.capture = flag_of(value, "capture");
    if (!all.includes(options.ranks)) throw Error(EINVAL, "pty.ranks: the job has not that many tasks");
    if (options.interactive && !options.ranks.test(0)) {
        options.ranks.set(0);
        options.added_first = true;
    }
    return options;
}

} // namespace flux::shell
