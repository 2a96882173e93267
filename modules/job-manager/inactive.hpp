// Jobs that are over and still in the store, by the time of their end: for purge and for plugins that ask. Read from
// the store when somebody first needs them, kept up since.
#pragma once

#include "core.hpp"

#include <flux/handle.hpp>

#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flux::job_manager {

class Inactive {
public:
    explicit Inactive(Core& core) : core_(core) {}

    /// Call back when the index is complete: at once, but for the first time.
    void with_all(std::function<void()> callback);
    /// The end of a job is durable.
    void add(const Job& job);
    /// As the configuration says, a few of those over its limits are removed at each beat.
    void configure(JsonView config);
    void on_heartbeat();

    void purge(Request request);
    void purge_id(Request request);

private:
    struct Limits {
        double age = -1; // seconds; -1: none, as in the next
        std::int64_t number = -1;
        bool any() const noexcept { return age >= 0 || number >= 0; }
    };
    using Entry = std::pair<double, JobId>;
    static Task<> read_all(Inactive* self);
    Task<> read();
    std::size_t over(const Limits& limits) const;
    /// Remove the oldest ones; `done` when it is durable.
    void remove_oldest(std::size_t count, std::function<void()> done);
    void remove(const std::vector<Entry>& entries, std::function<void()> done);

    Core& core_;
    std::set<Entry> entries_;
    std::unordered_map<JobId, double> ends_;
    bool complete_ = false;
    bool reading_ = false;
    bool purging_ = false;
    std::vector<std::function<void()>> waiting_;
    Limits limits_;
};

} // namespace flux::job_manager
