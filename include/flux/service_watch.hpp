// Is another service of this broker there? For modules whose protocol with a peer starts over when the peer does.
#pragma once

#include <flux/handle.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace flux {

/// Follows the coming and going of a service, also over its reload, as long as `scope` lives.
class ServiceWatch {
public:
    /// \param on_change  called after each change, also when the first answer arrives.
    ServiceWatch(Handle& handle, Scope& scope, std::string service, std::function<void()> on_change = {});
    ServiceWatch(const ServiceWatch&) = delete;
    ServiceWatch& operator=(const ServiceWatch&) = delete;

    bool up() const noexcept { return up_; }
    /// Grows with each change; 0: nothing is known yet.
    std::uint64_t changes() const noexcept { return changes_; }
    /// Wait until it is there and something has changed since `changes() == seen`.
    Task<> up_since(std::uint64_t seen);

private:
    static Task<> follow(ServiceWatch* self, Handle* handle, std::string service);

    std::function<void()> on_change_;
    bool up_ = false;
    std::uint64_t changes_ = 0;
    Condition changed_;
};

} // namespace flux
