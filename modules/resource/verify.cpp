#include "verify.hpp"

#include <fmt/core.h>

#include <cerrno>

namespace flux::resource {
namespace {

Verification::Mode parse_mode(std::string_view key, JsonView value) {
    auto text = value.try_as<std::string_view>();
    if (!text) throw Error(EINVAL, fmt::format("verify.{} mode must be a string", key));
    if (*text == "strict") return Verification::Mode::strict;
    if (*text == "allow-extra") return Verification::Mode::allow_extra;
    if (*text == "allow-missing") return Verification::Mode::allow_missing;
    if (*text == "ignore") return Verification::Mode::ignore;
    throw Error(EINVAL, fmt::format("verify.{}: unknown verify mode '{}'", key, *text));
}

} // namespace

Verification::Verification() : default_(Mode::allow_extra) {
    modes_.emplace("hostname", Mode::strict);
    modes_.emplace("gpu", Mode::ignore);
}

Verification::Verification(JsonView verify) {
    if (auto on = verify.try_as<bool>()) {
        if (!*on) default_ = Mode::ignore;
        return;
    }
    if (!verify.is_object()) throw Error(EINVAL, "verify must be a table or boolean");
    for (auto [key, value] : verify.members()) {
        if (key != "default" && key != "hostname" && key != "core" && key != "gpu")
            throw Error(EINVAL, fmt::format("verify: unsupported resource type: {}", key));
        auto mode = parse_mode(key, value);
        if (key == "default")
            default_ = mode;
        else
            modes_.emplace(key, mode);
    }
}

Verification::Mode Verification::mode(std::string_view type) const {
    auto found = modes_.find(type);
    return found == modes_.end() ? default_ : found->second;
}

// Of what is missing or extra, the types where that matters.
Children Verification::selected(const Children& children, bool missing) const {
    Children result;
    for (const auto& [type, ids] : children.types()) {
        auto how = mode(type);
        if (how == Mode::strict || how == (missing ? Mode::allow_extra : Mode::allow_missing)) result.set(type, ids);
    }
    return result;
}

std::string Verification::check(Idset::Id rank, const ResourceSet& expected, const ResourceSet& found) const {
    if (!expected.ranks().test(rank)) return fmt::format("rank {} not found in expected ranks", rank);
    const auto& host = found.host(rank);
    if (mode("hostname") == Mode::strict && host != expected.host(rank))
        return fmt::format("rank {} got hostname '{}', expected '{}'", rank, host, expected.host(rank));
    const auto& wanted = expected.children(rank);
    const auto& real = found.children(rank);
    if (auto missing = selected(wanted.without(real), true); !missing.empty())
        return fmt::format("rank {} ({}) missing resources: {}", rank, host, missing.summary());
    if (auto extra = selected(real.without(wanted), false); !extra.empty())
        return fmt::format("rank {} ({}) has extra resources: {}", rank, host, extra.summary());
    return {};
}

} // namespace flux::resource
