// Does a host have what R says it has.
#pragma once

#include <flux/resource_set.hpp>

#include <map>
#include <string>

namespace flux::resource {

class Verification {
public:
    enum class Mode { strict, allow_extra, allow_missing, ignore };

    /// Without `verify` in the configuration.
    Verification();
    /// \throws Error EINVAL
    explicit Verification(JsonView verify);

    /// What is wrong with `rank` as it was found; empty when nothing is.
    std::string check(Idset::Id rank, const ResourceSet& expected, const ResourceSet& found) const;

private:
    Mode mode(std::string_view type) const;
    Children selected(const Children& children, bool missing) const;

    Mode default_ = Mode::strict;
    std::map<std::string, Mode, std::less<>> modes_; // of `hostname` and types
};

} // namespace flux::resource
