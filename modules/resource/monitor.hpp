// Which ranks are online and which are torpid: follows the broker's groups. Rank 0.
#pragma once

#include <flux/handle.hpp>
#include <flux/idset.hpp>

#include <functional>
#include <string>

namespace flux::resource {

class Monitor {
public:
    /// Told of ranks that have joined or left one of the two groups.
    using OnChange = std::function<void(const char* event, const Idset& ranks)>;
    Monitor(Handle& handle, Scope& scope, OnChange on_change)
        : handle_(handle), scope_(scope), on_change_(std::move(on_change)) {}

    /// Begin to follow the groups; ends when the first answers have been told.
    Task<> start(std::string online_group);
    /// These ranks are online; no group is followed.
    void force_up(const Idset& ranks);
    /// These ranks count as offline until they join again.
    void force_down(const Idset& ranks) { set(online_, online_.members - ranks); }

    /// Answer once so many ranks are online.
    void wait_up(Request request, std::size_t count);
    void disconnect(const Request& request) { waiting_.disconnect(request); }

private:
    struct Group {
        Group(const char* joined, const char* left) : joined(joined), left(left) {}
        const char* joined;
        const char* left;
        Idset members;
    };
    static Task<> follow(Monitor* self, std::string name, Group* group);
    void set(Group& group, Idset members);

    Handle& handle_;
    Scope& scope_;
    OnChange on_change_;
    Group online_{"online", "offline"};
    Group torpid_{"torpid", "lively"};
    RequestList<std::size_t> waiting_;
    Condition answered_;
    int answers_ = 0;
};

} // namespace flux::resource
