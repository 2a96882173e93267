// Named sets of ranks, kept by rank 0, joined by brokers on behalf of themselves (broker.md 3.7).
#pragma once

#include <flux/handle.hpp>
#include <flux/idset.hpp>

#include <functional>
#include <map>
#include <string>

namespace flux::broker {

class Groups {
public:
    Groups(Loop& loop, Handle& handle, std::uint32_t rank);
    /// This broker joins or leaves.
    void join(const std::string& name);
    void leave(const std::string& name);
    /// On behalf of a rank below that does not speak for itself.
    void set_member(const std::string& name, std::uint32_t rank, bool member);
    /// Tell a parent that knows nothing of this subtree all of it.
    void tell_parent();
    /// These ranks are gone: they leave every group.
    void remove(const Idset& ranks);
    const Idset& members(const std::string& name) { return members_[name]; }
    /// Rank 0: called after each change of a group.
    std::function<void(const std::string& name)> on_change;

private:
    void serve();
    void change(const std::string& name, const Idset& ranks, bool set);
    void send_soon();
    void send_updates();

    Loop& loop_;
    Handle& handle_;
    std::uint32_t rank_;
    std::map<std::string, Idset> members_;      ///< rank 0: of the instance; else of this subtree
    std::map<std::string, std::string> joined_; ///< groups of this broker, and the client that joined it
    Json pending_ = Json::object();             ///< updates for the parent, in order
    bool posted_ = false;
    RequestList<std::string> watchers_;
};

} // namespace flux::broker
