// Client of the KVS: transactions, look-ups, watches, namespaces. Protocol: flux/kvs_protocol.hpp. For a service that
// commits again and again see flux/kvs_writer.hpp.
//
//     kvs::Transaction txn;
//     txn.put("a.b", "text").append("log", entry.encode());
//     kvs::Root root = co_await kvs::commit(handle, txn);
//     kvs::Value value = co_await kvs::lookup(handle, "a.b");
//
// A key is a path of names joined by dots; `.` is the root. The default namespace is that of FLUX_KVS_NAMESPACE in the
// environment, else `primary`.
#pragma once

#include <flux/blobref.hpp>
#include <flux/kvs_protocol.hpp>
#include <flux/reply.hpp>
#include <flux/treeobj.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flux::kvs {

/// The default namespace of this process.
std::string default_namespace();

/// A key as the KVS knows it: no empty names, no dot at either end; `.` is the root.
std::string normalize_key(std::string_view key);

/// Changes that are made together or not at all, in this order.
class Transaction {
public:
    /// Each throws Error EINVAL for an empty key.
    Transaction& put(std::string_view key, std::string_view bytes);
    /// Put a value as compact JSON text.
    Transaction& put_json(std::string_view key, JsonView value) { return put(key, value.dump()); }
    /// Add to a value, which is made when there is none.
    Transaction& append(std::string_view key, std::string_view bytes);
    /// Make an empty directory; replaces what is there.
    Transaction& mkdir(std::string_view key);
    /// Remove a key with all that is below it; it may be missing.
    Transaction& unlink(std::string_view key);
    /// Make a link to `target`, in another namespace when one is given.
    Transaction& symlink(std::string_view key, std::string_view target,
                         std::optional<std::string_view> name_space = std::nullopt);
    /// Put a tree object as it is. \throws Error EINVAL when it is invalid.
    Transaction& put_treeobj(std::string_view key, JsonView object);

    /// Append copies of all operations of `later`. Successive appends to one key become one.
    void join(const Transaction& later);
    bool empty() const noexcept { return operations_.empty(); }
    std::size_t size() const noexcept { return operations_.size(); }
    /// Roughly what it takes in memory.
    std::size_t bytes() const noexcept { return bytes_; }
    /// The `ops` of a `kvs.commit`.
    Json to_json() const;

private:
    struct Operation {
        Operation(std::string_view key, int flags, std::optional<std::string> value, Json object);
        std::string key;
        int flags;
        std::optional<std::string> value; // of a put or append
        Json object;                      // else: what is put, null to unlink
    };
    Transaction& add(Operation operation);
    std::vector<Operation> operations_;
    std::size_t bytes_ = 0;
    // Position of the append to each key that may still grow. Anything but an append ends them all.
    std::unordered_map<std::string, std::size_t> open_appends_;
};

/// A version of a namespace.
class Root {
public:
    Root() = default;
    Root(Blobref ref, std::int64_t sequence) : ref(ref), sequence(sequence) {}
    Blobref ref;
    std::int64_t sequence = 0;
    bool operator==(const Root&) const = default;
};

/// Options of a commit: `CommitOptions().name_space(ns).flags(kvs_protocol::sync)`
class CommitOptions {
public:
    CommitOptions() = default;
    CommitOptions& name_space(std::string_view name) { return namespace_ = name, *this; }
    /// Bits of kvs_protocol::CommitFlag.
    CommitOptions& flags(int bits) { return flags_ = bits, *this; }
    /// Makes it safe to send the commit again, see kvs_protocol::commit.
    CommitOptions& once(std::string_view id, std::int64_t seq) { return once_id_ = id, once_seq_ = seq, *this; }

    /// The payload of a `kvs.commit`.
    Json payload(const Transaction& transaction) const;

private:
    std::string namespace_ = default_namespace();
    int flags_ = 0;
    std::string once_id_;
    std::int64_t once_seq_ = 0;
};

/// Make the changes; the result is the version that has them. An empty transaction makes a new version too.
Reply<Root> commit(Handle& handle, const Transaction& transaction, const CommitOptions& options = {});

/// What a look-up found. Views are valid as long as this object.
class Value {
public:
    explicit Value(Message response) noexcept : response_(std::move(response)) {}
    /// The object itself. \throws Error EPROTO for the sentinel.
    JsonView object() const& { return response_.json().get<JsonView>("val"); }
    /// The bytes of a value. \throws Error EINVAL for an object of another type.
    std::string bytes() const { return treeobj::value_of(object()); }
    /// The value as JSON. \throws Error EINVAL when it is something else.
    Json json() const;
    /// The entries of a directory: an object of tree objects by name.
    JsonView entries() const& { return treeobj::entries_of(object()); }
    treeobj::Link link() const& { return treeobj::link_of(object()); }
    /// The empty response after the initial content of a watch.
    bool sentinel() const noexcept { return !response_.payload; }
    void object() const&& = delete;
    void entries() const&& = delete;
    void link() const&& = delete;

private:
    Message response_;
};

class LookupOptions {
public:
    LookupOptions() = default;
    LookupOptions& name_space(std::string_view name) { return namespace_ = name, *this; }
    /// Want a directory.
    LookupOptions& dir() { return flags_ |= kvs_protocol::readdir, *this; }
    /// Want a link, not what it points to.
    LookupOptions& link() { return flags_ |= kvs_protocol::readlink, *this; }
    /// Want the object as it is stored: a reference, if it is one.
    LookupOptions& treeobj() { return flags_ |= kvs_protocol::treeobj, *this; }
    /// Wait until the key, and its namespace, exist.
    LookupOptions& wait_create() { return flags_ |= kvs_protocol::wait_create, *this; }
    /// In this version of the tree, whatever its namespace is now.
    LookupOptions& at(const Blobref& root) { return root_ = root, *this; }

private:
    friend Reply<Value> lookup(Handle&, std::string_view, const LookupOptions&);
    std::string namespace_ = default_namespace();
    int flags_ = 0;
    std::optional<Blobref> root_;
};

/// Look up a key. Links are followed. \throws Error (when awaited) ENOENT, EISDIR (a directory, without `dir`),
/// ENOTDIR (a value, with it), EINVAL (`link`: something else).
Reply<Value> lookup(Handle& handle, std::string_view key, const LookupOptions& options = {});

/// Options of a watch: `WatchOptions().append().wait_create()`
class WatchOptions {
public:
    WatchOptions() = default;
    WatchOptions& name_space(std::string_view name) { return namespace_ = name, *this; }
    /// The value in pieces: first those that are there, then each that is appended.
    WatchOptions& append() { return flags_ |= kvs_protocol::watch_append, *this; }
    /// An empty response between these two (only with `append`).
    WatchOptions& sentinel() { return flags_ |= kvs_protocol::watch_initial_sentinel, *this; }
    WatchOptions& wait_create() { return flags_ |= kvs_protocol::wait_create, *this; }
    /// Only values that differ from the last.
    WatchOptions& unique() { return flags_ |= kvs_protocol::watch_unique, *this; }
    /// Look after every commit, not only those that name the key: a directory, a key behind a link.
    WatchOptions& full() { return flags_ |= kvs_protocol::watch_full, *this; }
    WatchOptions& dir() { return flags_ |= kvs_protocol::readdir, *this; }
    WatchOptions& link() { return flags_ |= kvs_protocol::readlink, *this; }
    WatchOptions& treeobj() { return flags_ |= kvs_protocol::treeobj, *this; }
    /// The pieces that are there, then the end: no watch at all.
    WatchOptions& pieces_only() { return pieces_only_ = true, *this; }

private:
    friend class Watch;
    std::string namespace_ = default_namespace();
    int flags_ = 0;
    bool pieces_only_ = false;
};

/// A watch under way, begun when this was made. Dropped, it is cancelled.
class [[nodiscard]] Watch {
public:
    Watch(Handle& handle, std::string_view key, const WatchOptions& options = {});

    class Awaiter {
    public:
        explicit Awaiter(const Stream& stream) : next_(stream.next()) {}
        bool await_ready() const noexcept { return next_.await_ready(); }
        template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
            return next_.await_suspend(coroutine);
        }
        std::optional<Value> await_resume();

    private:
        Stream::Awaiter next_;
    };
    /// The next value; nothing at the end, after cancel() or the last of the pieces.
    Awaiter next() const { return Awaiter(stream_); }
    /// Ask for the end; what was under way still comes.
    void cancel() { stream_.cancel(); }
    /// Call back with each response, the last being the one with an errnum; the callback may outlive this object.
    void then(std::function<void(Message)> callback) && { std::move(stream_).then(std::move(callback)); }

private:
    Stream stream_;
};

class RootInfo : public Root {
public:
    RootInfo(Root root, std::uint32_t owner, int flags) : Root(root), owner(owner), flags(flags) {}
    std::uint32_t owner;
    int flags;
};

/// The current version of a namespace on this rank.
Reply<RootInfo> getroot(Handle& handle, std::string_view name_space = default_namespace());
/// Wait until this rank has a version.
Reply<Root> wait_version(Handle& handle, std::int64_t sequence, std::string_view name_space = default_namespace());

class NamespaceOptions {
public:
    NamespaceOptions() = default;
    /// By default the instance owner.
    NamespaceOptions& owner(std::uint32_t userid) { return owner_ = userid, *this; }
    /// Begin with this tree instead of an empty one.
    NamespaceOptions& root(const Blobref& root) { return root_ = root, *this; }

private:
    friend Call namespace_create(Handle&, std::string_view, const NamespaceOptions&);
    std::uint32_t owner_ = userid_unknown;
    std::optional<Blobref> root_;
};

/// \throws Error (when awaited) EEXIST
Call namespace_create(Handle& handle, std::string_view name, const NamespaceOptions& options = {});
/// Succeeds when there is none.
Call namespace_remove(Handle& handle, std::string_view name);

struct NamespaceInfo {
    std::string name;
    std::uint32_t owner;
    int flags;
};
/// The namespaces known on this rank.
Reply<std::vector<NamespaceInfo>> namespace_list(Handle& handle);

} // namespace flux::kvs
