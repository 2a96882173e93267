#include "namespaces.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace flux::kvs_store {

void Namespace::check_access(const Credentials& credentials) const {
    if (removed) throw Error(ENOTSUP);
    if (!credentials.may_act_for(owner)) throw Error(EPERM);
}

void Namespace::set_root(const kvs::Root& newer) {
    if (newer.ref == root.ref) ++noop_stores;
    root = newer;
    version_waiters.remove_if([&](auto& waiter) {
        if (waiter.data > root.sequence) return false;
        waiter.request.respond(Json::object("rootseq", root.sequence, "rootref", root.ref));
        return true;
    });
}

void Namespace::remove() {
    removed = true;
    version_waiters.remove_if([](auto& waiter) {
        waiter.request.fail(ENOTSUP);
        return true;
    });
}

Json namespace_json(const Namespace& name_space, const kvs::Root& root) {
    return Json::object("owner", static_cast<std::int32_t>(name_space.owner), "rootseq", root.sequence, "rootref",
                        root.ref, "flags", name_space.flags, "namespace", name_space.name);
}

NamespacePtr NamespaceTable::find(const std::string& name) const {
    auto at = all_.find(name);
    return at != all_.end() ? at->second : nullptr;
}

void NamespaceTable::add(NamespacePtr name_space) { all_[name_space->name] = std::move(name_space); }

void NamespaceTable::remove(const std::string& name) {
    auto at = all_.find(name);
    if (at == all_.end()) return;
    at->second->remove();
    all_.erase(at);
}

void NamespaceTable::disconnect(const Request& request) {
    for (auto& [name, name_space] : all_) name_space->version_waiters.disconnect(request);
}

} // namespace flux::kvs_store
