// What a broker tells of its links: service `overlay` (broker.md 3.8).
#include "broker/overlay/overlay.hpp"

#include <flux/overlay_protocol.hpp>

#include <fmt/core.h>

#include <cerrno>

namespace flux::broker {

using namespace std::chrono_literals;

Json Overlay::health() const {
    auto now = std::chrono::steady_clock::now();
    auto seconds = [&](auto since) { return std::chrono::duration<double>(now - since).count(); };
    auto children = Json::array();
    for (const auto& [rank, child] : children_) {
        auto entry = Json::object("rank", rank, "status", to_string(child.status), "duration", seconds(child.since));
        if (child.torpid)
            entry.set("error", "unresponsive");
        else if (!child.error.empty())
            entry.set("error", child.error);
        children.append(std::move(entry));
    }
    return Json::object("rank", environment_.rank, "status", to_string(status()), "duration", seconds(since_),
                        "children", std::move(children));
}

Json Overlay::topology_json(std::uint32_t rank) const {
    auto children = Json::array();
    for (auto child : topology_.children(rank)) children.append(topology_json(child));
    return Json::object("rank", rank, "size", topology_.descendants(rank) + 1, "children", std::move(children));
}

void Overlay::serve() {
    handle_.serve(Method("overlay.health", MethodClass::stream, role_user), [this](Request request) {
        request.respond(health());
        if (request.streaming()) health_watchers_.add(request);
    });
    handle_.serve(overlay_protocol::monitor, [this](Request request) {
        request.require_streaming();
        for (const auto& [rank, child] : children_) {
            if (child.status != SubtreeStatus::offline)
                request.respond(Json::object("rank", rank, "status", to_string(child.status), "torpid", child.torpid));
        }
        monitors_.add(request);
    });
    handle_.serve(overlay_protocol::path, [this](Request request) {
        request.respond(path_json());
        if (request.streaming()) path_watchers_.add(request);
    });
    handle_.serve(Method("overlay.cancel", MethodClass::read, role_user), [this](Request request) {
        health_watchers_.cancel(request);
        monitors_.cancel(request);
        path_watchers_.cancel(request);
    });
    handle_.serve(overlay_protocol::disconnect_parent, [this](Request request) {
        auto reason = request.json().get<std::string>("reason");
        if (!upstream_ || !upstream_->link()) throw Error(ENOENT, "there is no link to a parent");
        environment_.log(LogLevel::crit, "disconnecting: " + reason);
        upstream_->disconnect(reason);
        request.respond();
    });
    handle_.serve(Method("overlay.topology", MethodClass::read, role_user), [this](Request request) {
        auto rank = request.json().get<std::uint32_t>("rank");
        if (rank != environment_.rank && !children_.contains(rank))
            throw Error(ENOENT, "requested rank is not this broker or its direct child");
        request.respond(topology_json(rank));
    });
    handle_.serve(overlay_protocol::disconnect_subtree, [this](Request request) {
        auto rank = request.json().get<std::uint32_t>("rank");
        auto reason = request.json().get_optional<std::string>("reason");
        auto child = children_.find(rank);
        if (child == children_.end()) throw Error(ENOENT, "requested rank is not this broker's direct child");
        if (!child->second.link)
            throw Error(EINVAL, fmt::format("rank {} is already {}", rank, to_string(child->second.status)));
        // For a reason of ours it may come back; by request it has to go.
        if (reason) {
            environment_.log(LogLevel::err, fmt::format("{} disconnected: {}", name_of(rank), *reason));
        } else {
            child->second.link->send(Message::control(control_disconnect, 0));
            child->second.link->flush(0s); // as far as it goes: it may have stopped reading
            environment_.log(LogLevel::err, name_of(rank) + " disconnected by request");
        }
        child_gone(rank, SubtreeStatus::lost, reason.value_or("administrative disconnect"));
        request.respond();
    });
    handle_.serve(Method("overlay.stats-get", MethodClass::read, role_user), [this](Request request) {
        std::size_t pending = 0;
        for (const auto& [rank, child] : children_) pending += child.link ? child.link->tracker.size() : 0;
        auto* parent = upstream_ ? upstream_->link() : nullptr;
        request.respond(Json::object("child-count", children_.size(), "child-connected", connected_children().count(),
                                     "parent-count", parent ? 1 : 0, "parent-rpc", parent ? parent->tracker.size() : 0,
                                     "parent-held", upstream_ ? upstream_->held_count() : 0, "child-rpc", pending,
                                     "interthread", Json::object("sendq", 0, "recvq", 0)));
    });
    handle_.serve(Method("overlay.disconnect", MethodClass::once, role_user), [this](Request request) {
        health_watchers_.disconnect(request);
        monitors_.disconnect(request);
        path_watchers_.disconnect(request);
        environment_.on_disconnect(request);
    });
}

} // namespace flux::broker
