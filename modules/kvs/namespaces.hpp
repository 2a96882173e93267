// The namespaces that this rank knows: the version of each, and who waits for one.
#pragma once

#include <flux/handle.hpp>
#include <flux/kvs.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace flux::kvs_store {

struct Namespace {
    Namespace(std::string name, std::uint32_t owner, int flags, kvs::Root root)
        : name(std::move(name)), owner(owner), flags(flags), root(root) {}
    std::string name;
    std::uint32_t owner;
    int flags;
    kvs::Root root;
    bool removed = false;
    RequestList<std::int64_t> version_waiters; // each waits for that sequence
    bool paused = false;                       // versions from events are held
    std::optional<kvs::Root> held;
    std::int64_t noop_stores = 0; // new versions with the tree of the one before

    /// \throws Error ENOTSUP when it was removed, EPERM when it is somebody else's.
    void check_access(const Credentials& credentials) const;
    /// A newer version; wakes who waits for it.
    void set_root(const kvs::Root& newer);
    /// It is gone: everybody is told.
    void remove();
};
/// `{namespace, owner, flags, rootref, rootseq}`, as in answers and in the content store.
Json namespace_json(const Namespace& name_space, const kvs::Root& root);
using NamespacePtr = std::shared_ptr<Namespace>;

class NamespaceTable {
public:
    NamespacePtr find(const std::string& name) const;
    void add(NamespacePtr name_space);
    /// Mark it removed and forget it.
    void remove(const std::string& name);
    void disconnect(const Request& request);

    const std::map<std::string, NamespacePtr>& all() const noexcept { return all_; }

private:
    std::map<std::string, NamespacePtr> all_;
};

} // namespace flux::kvs_store
