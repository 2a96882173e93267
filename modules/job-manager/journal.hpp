// `events-journal`: every event of every job, as soon as it is durable, to whoever wants it (jobs.md 5.6).
//
// A listener first gets what there is, then each event; one that asks for inactive jobs too hears of new events only
// when these have been read. A listener outlives a reload by the count of bytes that it has of each eventlog.
#pragma once

#include "core.hpp"

#include <flux/handle.hpp>

#include <set>

namespace flux::job_manager {

class Journal {
public:
    explicit Journal(Core& core) : core_(core) {}

    void listen(Request request);
    void cancel(const Request& request) { listeners_.cancel(request); }
    void disconnect(const Request& request) { listeners_.disconnect(request); }
    void on_event(const Job& job, const EventlogEntry& entry);
    /// The job will not be found among the jobs any more.
    void on_removed(const Job& job);
    Json stats() const;

    std::optional<Json> park(const Request& request);
    void resume(Request request, JsonView cursor);

private:
    struct Listener {
        std::set<std::string, std::less<>> allow; // empty: all
        std::set<std::string, std::less<>> deny;
        bool live = false;
        std::set<JobId> missed; // ended before the listener was live
        bool wants(std::string_view name) const;
    };
    static Listener make_listener(JsonView payload);
    void go_live(const Request& request, Listener& listener, JsonView seen);
    void send_log(const Request& request, const Listener& listener, const Job& job, std::size_t from);
    static Task<> prepare(Journal* self, Request request, std::shared_ptr<Json> seen);
    Task<> read_inactive(Request request);
    Task<> send_stored(Request request, std::vector<JobId> ids, JsonView seen);
    Task<> catch_up(Request request, Json seen);
    Listener* find(const Request& request) noexcept;

    Core& core_;
    RequestList<Listener> listeners_;
    std::uint64_t events_ = 0;
};

} // namespace flux::job_manager
