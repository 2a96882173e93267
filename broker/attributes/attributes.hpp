// Broker attributes: the registered names of broker.md 5, their flags and values.
#pragma once

#include <flux/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flux::broker {

class Attributes {
public:
    enum Flag : unsigned {
        readonly = 1,  ///< not on the command line
        immutable = 2, ///< fixed once set
        runtime = 4,   ///< attr.set may change it
    };

    /// From the command line (`-S`). \throws Error ENOENT `NAME: unknown attribute`, EINVAL when not settable there.
    void set_from_command_line(std::string_view name, std::optional<std::string> value);
    /// By the broker itself; no rule but that the name is registered.
    void set(std::string_view name, std::string value);
    /// By attr.set. \throws Error with the texts of broker.md 3.1
    void set_from_request(std::string_view name, std::string value, bool force);
    /// By attr.rm.
    void remove(std::string_view name);

    /// Nothing when not set (or set to nothing).
    std::optional<std::string> get(std::string_view name) const;
    std::string get_or(std::string_view name, std::string_view fallback) const;
    bool is_set(std::string_view name) const { return values_.contains(name); }
    bool is_immutable(std::string_view name) const;
    std::vector<std::string> names() const;
    /// Those that are immutable and set, as `welcome` carries them.
    Json immutable_json() const;

private:
    std::map<std::string, std::optional<std::string>, std::less<>> values_;
};

} // namespace flux::broker
