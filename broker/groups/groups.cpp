#include "broker/groups/groups.hpp"

#include <fmt/core.h>

#include <cerrno>

namespace flux::broker {

Groups::Groups(Loop& loop, Handle& handle, std::uint32_t rank) : loop_(loop), handle_(handle), rank_(rank) { serve(); }

void Groups::join(const std::string& name) {
    if (members_[name].test(rank_)) throw Error(EEXIST, fmt::format("rank {} is already a member of {}", rank_, name));
    change(name, Idset{rank_}, true);
}

void Groups::leave(const std::string& name) {
    if (!members_[name].test(rank_)) throw Error(ENOENT, fmt::format("rank {} is not a member of {}", rank_, name));
    change(name, Idset{rank_}, false);
}

void Groups::set_member(const std::string& name, std::uint32_t rank, bool member) {
    if (members_[name].test(rank) != member) change(name, Idset{rank}, member);
}

void Groups::tell_parent() {
    pending_ = Json::object();
    for (const auto& [name, members] : members_) {
        if (!members.empty()) pending_.array_at(name).append(Json::object("ranks", members.encode(), "set", true));
    }
    if (!pending_.empty()) send_soon();
}

void Groups::remove(const Idset& ranks) {
    for (auto& [name, members] : members_) {
        if (members.intersects(ranks)) change(name, ranks, false);
    }
}

void Groups::change(const std::string& name, const Idset& ranks, bool set) {
    auto& members = members_[name];
    if (set)
        members |= ranks;
    else
        members -= ranks;
    if (rank_ > 0) {
        pending_.array_at(name).append(Json::object("ranks", ranks.encode(), "set", set));
        return send_soon();
    }
    auto text = members.encode();
    watchers_.for_each([&](auto& entry) {
        if (entry.data == name) entry.request.respond(Json::object("members", text));
    });
    if (on_change) on_change(name);
}

void Groups::send_soon() {
    if (!std::exchange(posted_, true)) loop_.post([this] { send_updates(); });
}

// What came in one turn of the loop goes up as one message.
void Groups::send_updates() {
    posted_ = false;
    handle_.notify("groups.update", Json::object("update", std::exchange(pending_, Json::object())),
                   CallOptions().upstream());
}

void Groups::serve() {
    auto local = [](const Request& request, const char* method) {
        if (!(request.credentials().rolemask & role_local))
            throw Error(EPROTO, fmt::format("{} is restricted to the local broker", method));
    };
    handle_.serve(Method("groups.join", MethodClass::once), [this, local](Request request) {
        local(request, "groups.join");
        auto name = request.json().get<std::string>("name");
        join(name);
        joined_[name] = request.sender();
        request.respond();
    });
    handle_.serve(Method("groups.leave", MethodClass::once), [this, local](Request request) {
        local(request, "groups.leave");
        auto name = request.json().get<std::string>("name");
        leave(name);
        joined_.erase(name);
        request.respond();
    });
    handle_.serve(Method("groups.update", MethodClass::once), [this](Request request) {
        for (auto [name, changes] : request.json()["update"].members()) {
            for (auto entry : changes.elements())
                change(std::string(name), Idset::parse(entry.get<std::string_view>("ranks")), entry.get<bool>("set"));
        }
    });
    handle_.serve(Method("groups.get", MethodClass::stream, role_user), [this](Request request) {
        if (rank_ != 0) throw Error(EPROTO, "this RPC is only available on rank 0");
        auto name = request.json().get<std::string>("name");
        request.respond(Json::object("members", members_[name].encode()));
        if (request.streaming()) watchers_.add(request, name);
    });
    handle_.serve(Method("groups.stats-get", MethodClass::read, role_user), [this](Request request) {
        auto subtree = Json::object();
        for (const auto& [name, members] : members_) subtree.set(name, members.encode());
        request.respond(Json::object("subtree", std::move(subtree)));
    });
    handle_.serve(Method("groups.disconnect", MethodClass::once, role_user), [this](Request request) {
        watchers_.disconnect(request);
        std::erase_if(joined_, [&](const auto& entry) {
            if (entry.second != request.sender()) return false;
            if (members_[entry.first].test(rank_)) leave(entry.first);
            return true;
        });
    });
}

} // namespace flux::broker
