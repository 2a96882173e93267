// Commits that are made once, whatever happens to the KVS or the way to it. Writer is for a service that writes again
// and again: one commit is under way, what comes meanwhile goes into the next.
#pragma once

#include <flux/kvs.hpp>

#include <functional>
#include <memory>
#include <string>

namespace flux::kvs {

/// commit() that is sent again, with the same key, while its answer gets lost on the way (EHOSTUNREACH): the changes
/// are made once. `options` must not name a key of its own. \throws Error why they were not made.
Task<Root> commit_once(Handle& handle, const Transaction& transaction, CommitOptions options = {});

class WriterOptions {
public:
    WriterOptions() = default;
    WriterOptions& name_space(std::string_view name) { return namespace_ = name, *this; }
    /// Bits of kvs_protocol::CommitFlag for each commit.
    WriterOptions& flags(int bits) { return flags_ = bits, *this; }
    /// Who writes, for the KVS to know a repeat: no other writer may ever have had this id. By default a random one.
    WriterOptions& id(std::string_view id) { return id_ = id, *this; }

private:
    friend class Writer;
    std::string namespace_ = default_namespace();
    int flags_ = 0;
    std::string id_;
};

class Writer {
public:
    /// Told how it went: null when the changes are durable, else why they were not made.
    using Done = std::function<void(const Error* failure)>;

    explicit Writer(Handle& handle, const WriterOptions& options = {});
    /// What is not yet answered is forgotten: a commit under way may still be made.
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Make these changes after all that was given before; at once if nothing is under way. Transactions may share a
    /// commit; one that is refused (EINVAL, EPERM, ...) does not take others with it. `done` is never called from
    /// inside of add().
    void add(Transaction transaction, Done done = {});
    /// Add and wait. \throws Error why the changes were not made.
    Task<> commit(Transaction transaction);
    /// Wait until nothing is left to write.
    Task<> drained();

    bool idle() const noexcept;
    /// Roughly what waits or is under way, in memory.
    std::size_t bytes() const noexcept;
    /// Go on over another connection: after the old one was lost what was under way is sent again here.
    void attach(Handle& handle);

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace flux::kvs
