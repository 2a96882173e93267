// The arguments of a scheduler module (resources-sched.md 3.4).
#pragma once

#include <flux/handle.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace flux::sched_service {

class Options {
public:
    /// \param queue_depth  the module's default. \throws Error EINVAL
    Options(const std::vector<std::string>& arguments, const std::string& queue_depth);

    /// How many jobs the job manager may ask for at a time; nothing: all.
    std::optional<std::size_t> queue_depth;
    LogLevel log_level = LogLevel::info;
    std::string log_level_name = "info";
    /// Jobs that have given back a part of their resources are taken over, too.
    bool partial_ok = true;

    std::string queue_depth_name() const { return queue_depth ? std::to_string(*queue_depth) : "unlimited"; }
};

} // namespace flux::sched_service
