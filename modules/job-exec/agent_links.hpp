// The coordinator's side of the sessions with agents (flux/job_exec_protocol.hpp). What is ordered in one turn of the
// loop goes to a rank as one message of each kind.
#pragma once

#include <flux/handle.hpp>
#include <flux/idset.hpp>
#include <flux/job_id.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flux::job_exec {

/// Orders of one kind: entries of an array, each for some ranks.
class Outbox {
public:
    Outbox(const Method& method, const char* key) : method_(method), key_(key) {}
    void add(const Idset& ranks, Json entry) { items_.emplace_back(ranks, std::move(entry)); }
    void flush(Handle& handle);

private:
    void send(Handle& handle, const Idset& ranks, const std::vector<std::size_t>& items) const;
    const Method& method_;
    const char* key_;
    std::vector<std::pair<Idset, Json>> items_;
};

class AgentLinks {
public:
    class Events {
    public:
        Events() {}
        /// \param all  the agent has begun to tell, these are all that it has.
        std::function<void(std::uint32_t rank, JsonView shells, bool all)> on_shells;
        std::function<void(std::uint32_t rank, const Error& error)> on_down;
    };
    AgentLinks(Handle& handle, Events events);
    ~AgentLinks();

    /// Begin a session, with all that the agent has, also if there is one.
    void greet(std::uint32_t rank);
    /// Begin a session unless there is one.
    void connect(std::uint32_t rank);
    bool connected(std::uint32_t rank) const { return sessions_.contains(rank); }

    void launch(const Idset& ranks, Json job);
    void signal(const Idset& ranks, JobId id, int signum);
    void release(const Idset& ranks, JobId id, int seq);
    void end(const Idset& ranks, JobId id);
    void forget(const Idset& ranks, JobId id);
    void expiration(const Idset& ranks, JobId id, double expiration);

private:
    void on_response(std::uint32_t rank, std::uint64_t session, const Message& message);
    void flush_soon();

    Handle& handle_;
    Events events_;
    std::map<std::uint32_t, std::uint64_t> sessions_; // the number of the current one
    std::set<std::uint64_t> silent_;                  // those that have not told anything yet
    std::uint64_t last_session_ = 0;
    Outbox launches_, signals_, releases_, ends_, forgets_;
    bool flushing_ = false;
    std::shared_ptr<AgentLinks*> self_; // for callbacks that may outlive this
};

} // namespace flux::job_exec
