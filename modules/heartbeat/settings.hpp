// `[heartbeat]` of the configuration.
#pragma once

#include <flux/json.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace flux {

class HeartbeatSettings {
public:
    /// \param config           the whole configuration
    /// \param period_argument  the module's argument `period`, which wins
    /// \throws Error EINVAL saying what is wrong
    HeartbeatSettings(JsonView config, const std::optional<std::string>& period_argument);

    std::chrono::nanoseconds period;
    std::chrono::nanoseconds timeout; ///< 0: never
    int warn_thresh = 3;              ///< periods without a pulse until a follower warns; 0: never
    std::string timeout_text;         ///< as it was written
};

} // namespace flux
