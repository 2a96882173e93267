// What was done to the plugins at run time: with the configuration it tells which are loaded, also after a restart.
#pragma once

#include <flux/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flux::job_manager {

class PluginRecord {
public:
    struct Load {
        std::string name;
        std::string file; ///< where it was found, or the name of a builtin
        Json arguments;
    };

    void loaded(std::string_view name, std::string_view file, JsonView arguments);
    void removed(std::string_view name);

    /// Loaded at run time, in this order.
    const std::vector<Load>& loads() const noexcept { return loads_; }
    /// A builtin, or of the configuration, and not wanted any more.
    bool is_removed(std::string_view name) const { return removed_.contains(name); }

    /// `{loaded:[{name:s, file:s, conf:o}, ...], removed:[s, ...]}`
    Json encode() const;
    /// What is malformed in it is left out.
    static PluginRecord decode(JsonView json);

private:
    std::vector<Load> loads_;
    std::set<std::string, std::less<>> removed_;
};

} // namespace flux::job_manager
