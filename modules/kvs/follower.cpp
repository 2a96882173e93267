#include "follower.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace flux::kvs_store {
namespace {

namespace protocol = kvs_protocol;

// A namespace that nobody waits for and that has not changed for this long is fetched again when it is used.
constexpr std::chrono::hours forget_after(1);

std::string event_prefix(const std::string& name) { return fmt::format("{}{}-", protocol::event_prefix, name); }

std::string event_topic(const std::string& name, std::string_view suffix) {
    return fmt::format("{}{}{}", protocol::event_prefix, name, suffix);
}

kvs::Root read_root(JsonView payload) {
    return kvs::Root(payload.get<Blobref>("rootref"), payload.get<std::int64_t>("rootseq"));
}

} // namespace

Task<NamespacePtr> Follower::follow(std::string name) {
    auto known = namespaces_.find(name);
    if (known && !stale_.contains(name)) co_return known;
    auto& slot = fetches_[name];
    bool first = !slot;
    if (first) slot = std::make_shared<Fetch>();
    auto shared = slot;
    if (first)
        co_await fetch(name, shared);
    else
        while (!shared->over) co_await shared->done.wait();
    if (shared->failure) throw *shared->failure;
    auto name_space = namespaces_.find(name);
    if (!name_space) throw Error(ENOTSUP);
    co_return name_space;
}

Task<> Follower::fetch(std::string name, std::shared_ptr<Fetch> fetch) {
    forget_unused();
    auto known = namespaces_.find(name);
    try {
        // Events first: whatever the answer does not have yet comes after it or is noted meanwhile.
        if (!known) {
            auto on_event = [this](const Message& event) { this->on_event(event); };
            auto subscribed = handle_.subscribe(event_prefix(name), std::move(on_event));
            co_await subscribed;
        }
        auto query = Json::object("namespace", name, "flags", 0);
        auto options = CallOptions().upstream();
        auto response = co_await handle_.call(protocol::getroot.topic, std::move(query), options);
        auto payload = response.json();
        if (fetch->removed) throw Error(ENOTSUP);
        auto root = read_root(payload);
        if (fetch->newest && fetch->newest->sequence > root.sequence) root = *fetch->newest;
        stale_.erase(name);
        if (known)
            known->set_root(root);
        else
            namespaces_.add(std::make_shared<Namespace>(
                name, static_cast<std::uint32_t>(payload.get<std::int32_t>("owner")), payload.get<int>("flags"), root));
        last_update_[name] = std::chrono::steady_clock::now();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        fetch->failure = error;
        if (!known)
            handle_.unsubscribe(event_prefix(name));
        else if (error.errnum() == ENOTSUP)
            forget(name);
    }
    fetches_.erase(name);
    fetch->over = true;
    fetch->done.notify_all();
}

void Follower::resync(Scope& scope) {
    held_ = false;
    for (auto& [name, fetch] : fetches_) fetch->newest.reset();
    for (const auto& [name, name_space] : namespaces_.all()) stale_.insert(name);
    for (const auto& name : stale_) scope.spawn("refresh", &Follower::refresh, this, name);
}

Task<> Follower::refresh(Follower* self, std::string name) {
    try {
        co_await self->follow(name);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        // It is gone, or tried again when it is used.
    }
}

Task<> Follower::commit(Request request) {
    auto name = request.json().get<std::string>("namespace");
    auto options = CallOptions().rank(0).credentials(request.credentials());
    auto response = co_await handle_.call(protocol::commit.topic, request.message().payload, options);
    auto root = read_root(response.json());
    try {
        auto name_space = co_await follow(name);
        if (name_space->root.sequence < root.sequence) name_space->set_root(root);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        // The commit is made all the same; the namespace has gone since, or is fetched again when it is used.
    }
    request.respond(response.payload);
}

void Follower::on_event(const Message& event) {
    auto payload = event.json();
    auto name = payload["namespace"].try_as<std::string>();
    if (!name) return;
    if (event.topic == event_topic(*name, protocol::setroot_suffix))
        on_setroot(*name, read_root(payload));
    else if (event.topic == event_topic(*name, protocol::removed_suffix))
        on_removed(*name);
}

void Follower::on_setroot(const std::string& name, const kvs::Root& root) {
    auto fetch = fetches_.find(name);
    if (fetch != fetches_.end()) fetch->second->newest = root;
    auto name_space = namespaces_.find(name);
    if (!name_space) return;
    if (held_) return;
    last_update_[name] = std::chrono::steady_clock::now();
    if (name_space->paused)
        name_space->held = root;
    else if (!stale_.contains(name) && (root.sequence == 0 || root.sequence > name_space->root.sequence))
        name_space->set_root(root);
}

void Follower::on_removed(const std::string& name) {
    auto fetch = fetches_.find(name);
    if (fetch != fetches_.end()) fetch->second->removed = true;
    if (namespaces_.find(name)) forget(name);
}

void Follower::forget(const std::string& name) {
    namespaces_.remove(name);
    stale_.erase(name);
    last_update_.erase(name);
    handle_.unsubscribe(event_prefix(name));
}

void Follower::forget_unused() {
    auto now = std::chrono::steady_clock::now();
    std::vector<std::string> unused;
    for (const auto& [name, name_space] : namespaces_.all())
        if (name != protocol::primary_namespace && name_space->version_waiters.empty() &&
            now - last_update_[name] > forget_after)
            unused.push_back(name);
    for (const auto& name : unused) forget(name);
}

} // namespace flux::kvs_store
