#include "monitor.hpp"

#include <flux/resource_protocol.hpp>

namespace flux::resource {

Task<> Monitor::start(std::string online_group) {
    scope_.spawn("online ranks", &Monitor::follow, this, std::move(online_group), &online_);
    scope_.spawn("torpid ranks", &Monitor::follow, this, std::string(resource_protocol::torpid_group), &torpid_);
    while (answers_ < 2) co_await answered_.wait();
}

Task<> Monitor::follow(Monitor* self, std::string name, Group* group) {
    auto stream = self->handle_.stream("groups.get", Json::object("name", name));
    bool first = true;
    while (auto response = co_await stream.next()) {
        self->set(*group, response->json().get<Idset>("members"));
        if (!std::exchange(first, false)) continue;
        ++self->answers_;
        self->answered_.notify_all();
    }
}

void Monitor::force_up(const Idset& ranks) { set(online_, ranks); }

void Monitor::set(Group& group, Idset members) {
    auto before = std::exchange(group.members, std::move(members));
    if (auto joined = group.members - before; !joined.empty()) on_change_(group.joined, joined);
    if (auto left = before - group.members; !left.empty()) on_change_(group.left, left);
    auto count = online_.members.count();
    waiting_.remove_if([&](auto& entry) {
        if (entry.data != count) return false;
        entry.request.respond();
        return true;
    });
}

void Monitor::wait_up(Request request, std::size_t count) {
    if (online_.members.count() == count) return request.respond();
    waiting_.add(std::move(request), count);
}

} // namespace flux::resource
