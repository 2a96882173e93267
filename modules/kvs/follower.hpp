// The namespaces of a rank that is not the leader: fetched when they are first used, kept up to date by events.
#pragma once

#include "namespaces.hpp"

#include <flux/handle.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace flux::kvs_store {

class Follower {
public:
    Follower(Handle& handle, NamespaceTable& namespaces) : handle_(handle), namespaces_(namespaces) {}

    /// The way to the leader is open again, and it may be another one: what it has holds, whatever its versions. Until
    /// that is known, who uses a namespace waits.
    void resync(Scope& scope);

    /// The namespace, followed from now on. \throws Error ENOTSUP when there is none.
    Task<NamespacePtr> follow(std::string name);
    /// While the way to the leader is held: what it still publishes is not followed, as nothing of it could be read.
    void hold() noexcept { held_ = true; }
    /// Have rank 0 make a commit; it is answered when this rank has its version.
    Task<> commit(Request request);

private:
    // A namespace that is being fetched, and what its events told meanwhile.
    struct Fetch {
        Condition done;
        bool over = false;
        std::optional<Error> failure;
        std::optional<kvs::Root> newest;
        bool removed = false;
    };
    Task<> fetch(std::string name, std::shared_ptr<Fetch> fetch);
    static Task<> refresh(Follower* self, std::string name);
    void on_event(const Message& event);
    void on_setroot(const std::string& name, const kvs::Root& root);
    void on_removed(const std::string& name);
    void forget(const std::string& name);
    void forget_unused();

    Handle& handle_;
    NamespaceTable& namespaces_;
    std::map<std::string, std::shared_ptr<Fetch>> fetches_; // under way
    bool held_ = false;
    std::set<std::string> stale_; // followed, to be fetched anew
    std::map<std::string, std::chrono::steady_clock::time_point> last_update_;
};

} // namespace flux::kvs_store
