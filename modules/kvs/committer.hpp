// The writer of rank 0: one commit to the content store is under way, the next takes all that arrived meanwhile. What
// it answers is durable.
#pragma once

#include "batch.hpp"
#include "namespaces.hpp"
#include "once_table.hpp"
#include "store.hpp"

#include <flux/running_stats.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace flux::kvs_store {

class Committer {
public:
    /// Of commits that wait for space: enough for the eventlogs of a busy instance until somebody has made some.
    static constexpr std::size_t default_backlog_limit = std::size_t(64) << 20;

    Committer(Handle& handle, Scope& scope, HashKind hash, Store& store, NamespaceTable& namespaces);

    /// Take a `kvs.commit`. \throws Error why it is refused at once.
    void commit(Request request);
    /// Take a `kvs.namespace-create`.
    void create(Request request);
    /// Take a `kvs.namespace-remove`.
    void remove(Request request);
    /// Make a checkpoint soon, if there was a change since the last.
    void checkpoint();

    /// The store has a checkpoint of this version.
    void checkpointed(std::int64_t sequence) noexcept { checkpoint_sequence_ = sequence; }

    /// The commit loop.
    Task<> run();
    /// After the loop: the last checkpoint.
    Task<> finish();

    /// Whether transactions may share a version (they may by default).
    void set_merge(bool merge) noexcept { merge_ = merge; }
    /// Bytes of commits that may wait while the store is full.
    void set_backlog_limit(std::size_t bytes) noexcept { backlog_limit_ = bytes; }

    Hasher& hasher() noexcept { return hasher_; }
    /// Transactions of a namespace that wait.
    std::size_t waiting(const std::string& name_space) const;
    /// All that wait or are under way.
    std::size_t pending() const noexcept { return queue_.size() + under_way_; }
    const RunningStats& operation_counts() const noexcept { return operation_counts_; }

private:
    enum class What { commit, create, remove };
    struct Job {
        Job(What what, Request request, NamespacePtr name_space)
            : what(what), request(std::move(request)), name_space(std::move(name_space)) {}
        What what;
        Request request;
        NamespacePtr name_space;
        Operations operations;
        int flags = 0;
        std::size_t bytes = 0;
        std::string name; // in events
        std::string once_id;
        std::int64_t once_seq = 0;
        bool over = false; // answered
    };
    using Jobs = std::vector<Job>;
    void begin_once(Job job);
    static Task<> ask_once(Committer* self, std::shared_ptr<Job> job);
    void enqueue(Job job);
    Jobs take();
    Task<> apply(Jobs& jobs, Batch& batch, Loaded& loaded);
    Task<> require_backing(Jobs& jobs);
    Payload content_commit(const Jobs& jobs, const Batch& batch, bool sync) const;
    Json checkpoint_of(const kvs::Root& root) const;
    Task<> write(Jobs& jobs, Batch& batch, bool sync);
    void publish(Jobs& jobs, const Batch& batch);
    void publish_version(Jobs& jobs, Namespace& name_space, const Batch::Version& version);
    void publish_event(const Namespace& name_space, std::string_view suffix, Json payload);
    void refuse(Job& job, const Error& error);
    void refuse_all(Jobs& jobs, const Error& error);

    Handle& handle_;
    Scope& scope_;
    Hasher hasher_;
    Store& store_;
    NamespaceTable& namespaces_;
    OnceTable once_;
    std::deque<Job> queue_;
    std::size_t queued_bytes_ = 0;
    std::size_t under_way_ = 0;
    Condition wake_;
    bool merge_ = true;
    bool checkpoint_wanted_ = false;
    std::int64_t checkpoint_sequence_ = -1; // of primary, at the last checkpoint
    bool full_ = false;                     // the queue waits for space
    std::size_t backlog_limit_ = default_backlog_limit;
    std::uint64_t last_name_ = 0;
    RunningStats operation_counts_;
};

} // namespace flux::kvs_store
