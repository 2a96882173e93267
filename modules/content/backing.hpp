// Rank 0's way to and from the backing store: which store there is, what waits for it, and the queue of writes.
//
// All is written by `content-backing.commit`, one at a time, in the order of arrival: dirty blobs gather while the one
// before is under way, a commit of the KVS takes the blobs before it along. Requests that mean "when all before this is
// written" stand in the same queue.
#pragma once

#include "blob_cache.hpp"

#include <flux/content_commit.hpp>
#include <flux/handle.hpp>

#include <deque>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace flux {

class Backing {
public:
    /// \param batch_limit  most blobs in one write
    Backing(Handle& handle, BlobCache& cache, HashKind hash, std::size_t batch_limit);

    /// Look for a store that was there before this cache.
    void discover();
    /// Handlers of `content.register-backing`, `content.unregister-backing`, `content.disconnect`.
    void register_store(const Request& request);
    void unregister_store(const Request& request);
    void disconnect(const Request& request);

    /// Ask the store for a blob. The response is an error when there is no store.
    void load(const Blobref& ref, std::function<void(const Message&)> done);
    /// Write a blob that has become dirty.
    void write(const Blobref& ref);
    /// Handlers of `content.commit`, `content.flush`, `content.checkpoint-put`, `content.checkpoint-get`.
    void commit(const Request& request);
    void flush(const Request& request);
    void checkpoint_put(const Request& request);
    void checkpoint_get(const Request& request);

    /// Wait until all is written, or cannot be, or `limit` has passed.
    Task<> drain(std::chrono::nanoseconds limit);
    /// Blobs in the write under way.
    std::size_t batch_count() const noexcept;

private:
    enum class State {
        none, ///< nobody has registered, or has said good-bye: blobs stay in memory
        up,
        away, ///< comes back in a moment, or not yet found: what needs it waits
        lost, ///< did not come back: what needs it fails
    };
    class Commit {
    public:
        Commit(const Request& request, HashKind hash)
            : request(request), content(request.message().payload.bytes(), hash) {}
        Request request;
        ContentCommit content; // borrows from the request
    };
    enum class Wait { flush, checkpoint_put, unregister };
    class Waiting {
    public:
        Waiting(Wait what, const Request& request) : what(what), request(request) {}
        Wait what;
        Request request;
    };
    using Item = std::variant<Blobref, Commit, Waiting>;

    void come_up(const std::string& name);
    void go_away();
    void become_lost();
    void become_none();
    void run_deferred();

    void push(Item item);
    void pump();
    void take_front();
    void send(std::string_view topic, Payload payload);
    void on_written(const Message& response);
    void complete(Item& item);
    void on_failure(const Message& response, std::vector<Item> batch);
    void fail_requests(int errnum, const std::string& text);
    void keep_in_memory(const ContentCommit& commit);

    Handle& handle_;
    BlobCache& cache_;
    HashKind hash_;
    std::size_t batch_limit_;

    State state_ = State::none;
    bool discovering_ = false;
    std::string name_;                            // of the store, once one has registered
    std::string registrant_;                      // its route id
    std::vector<std::function<void()>> deferred_; // run when the state is no longer `away`

    std::deque<Item> queue_;
    std::vector<Item> batch_; // the write under way
    bool failing_ = false;    // the last write failed, and the log says so
    Condition changed_;       // a write has ended, or the state is another
    Timer away_timer_;
    Timer retry_timer_;
};

} // namespace flux
