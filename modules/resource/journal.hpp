// Resource events in their one order: durable ones are in the KVS first, then whoever asked is answered, then the state
// changes, then those who follow the journal are told.
#pragma once

#include <flux/eventlog.hpp>
#include <flux/handle.hpp>
#include <flux/kvs_writer.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace flux::resource {

class Journal {
public:
    /// An event has happened: change the state.
    using Apply = std::function<void(const EventlogEntry&)>;
    /// Told when the event is durable, or why it is not.
    using Done = std::function<void(const Error* failure)>;
    /// R as it is now, for those who get a `resource-define`.
    using CurrentR = std::function<Json()>;

    Journal(Handle& handle, Apply apply, CurrentR current_R);

    /// Events of earlier runs, for the backlog.
    void remember(std::vector<EventlogEntry> events);
    /// Older ones than this time are no more.
    void truncated(double timestamp) { truncated_ = timestamp; }
    void set_limit(std::size_t events);

    /// An event that is only in memory. Behind earlier ones that are not yet durable.
    void post(EventlogEntry event);
    /// An event that goes to the KVS, together with `changes`.
    void commit(EventlogEntry event, Done done = {}, kvs::Transaction changes = {});
    /// Nothing waits for the KVS.
    bool idle() const noexcept { return queue_.empty(); }
    /// Wait for that.
    Task<> settled();
    kvs::Writer& writer() noexcept { return writer_; }

    /// A follower: the backlog, then what comes.
    void follow(Request request);
    /// A follower of an earlier instance: what it has not seen is what happened since this one began.
    void follow_on(Request request);
    void cancel(const Request& request) { followers_.cancel(request); }
    void disconnect(const Request& request) { followers_.disconnect(request); }

private:
    struct Item {
        Item(EventlogEntry event, bool ready, Done done)
            : event(std::move(event)), ready(ready), done(std::move(done)) {}
        EventlogEntry event;
        bool ready;
        Done done;
        std::optional<Error> failure;
    };

    void flush();
    void publish(const EventlogEntry& event);
    void shorten();
    Json response(Json events, bool define) const;
    void send_backlog(const Request& request, std::size_t from) const;

    Apply apply_;
    CurrentR current_R_;
    std::deque<Item> queue_;
    Condition settled_;
    std::deque<EventlogEntry> backlog_;
    std::size_t limit_ = 0;
    std::size_t own_ = 0; // so many at the end of the backlog are of this instance
    std::optional<double> truncated_;
    RequestList<char> followers_;
    kvs::Writer writer_; // last: its callbacks use the rest
};

} // namespace flux::resource
