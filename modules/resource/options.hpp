// `[resource]` of the configuration, and the arguments of the module.
#pragma once

#include "verify.hpp"

#include <flux/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace flux::resource {

class Options {
public:
    /// \param config  the whole configuration. \throws Error EINVAL saying what is wrong
    explicit Options(JsonView config);
    /// \throws Error EINVAL `unknown option: X`
    void add_arguments(const std::vector<std::string>& arguments);

    /// Idset or hostlist of ranks that nobody gets; empty: none.
    std::string exclude;
    bool norestrict = false;
    bool noverify = false;
    bool rediscover = false;
    bool no_update_watch = false;
    /// What was set up by whom is checked only where somebody asked for it.
    bool verify_given = false;
    Verification verification;
    std::size_t journal_max = 100000;
    /// Seconds that events are kept; may be infinite.
    double history = 90 * 86400.0;
    /// Reranking by the `hostlist` attribute is wanted.
    bool bootstrap = false;
    std::string online_group;
    // Arguments, for tests.
    bool monitor_force_up = false;
    bool notruncate = false;
};

} // namespace flux::resource
