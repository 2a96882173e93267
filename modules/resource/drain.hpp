// Which ranks are drained, since when and why (RFC 44).
#pragma once

#include <flux/idset.hpp>
#include <flux/json.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace flux::resource {

/// `mode` of a drain or undrain request.
enum class DrainMode { none, update, overwrite, force_overwrite };
/// \throws Error EINVAL with `text`, in which {} stands for the mode
DrainMode parse_drain_mode(JsonView request, std::string_view text);
/// The `overwrite` of the event.
int overwrite_of(DrainMode mode) noexcept;

/// Ranks that were drained together are kept together.
class DrainTable {
public:
    using Reason = std::optional<std::string>;

    /// `overwrite` decides for those that are drained already. 0: a missing reason is filled in; 1: the reason is
    /// replaced; 2: the time too.
    void drain(const Idset& ranks, double timestamp, const Reason& reason, int overwrite);
    void undrain(const Idset& ranks);

    const Idset& ranks() const noexcept { return ranks_; }
    /// Those with a reason.
    Idset explained() const;

    /// \throws Error EEXIST, EINVAL when the request cannot be met
    void check_drain(const Idset& ranks, const Idset& excluded, DrainMode mode) const;
    void check_undrain(const Idset& ranks, DrainMode mode) const;

    /// `{IDSET:{timestamp, reason}, ...}`; times in whole seconds.
    Json to_json() const;
    /// The same with the `nodelist` of each.
    Json to_checkpoint(const std::function<std::string(const Idset&)>& hosts_of) const;

private:
    struct Why {
        double timestamp;
        Reason reason;
        auto operator<=>(const Why&) const = default;
    };
    std::map<Why, Idset> groups_;
    Idset ranks_;
};

} // namespace flux::resource
