// Which jobs ask the scheduler for resources, and in which order (RFC 27). Pure: what is to be sent comes out of
// take_orders().
#pragma once

#include <flux/job_id.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flux::job_manager {

class AllocQueue {
public:
    /// The scheduler takes requests: at most `limit` at a time.
    void open(std::optional<std::size_t> limit);
    /// The scheduler is gone, and with it all requests.
    void close();
    bool is_open() const noexcept { return open_; }

    /// The job wants resources, with this priority.
    void want(JobId id, std::int64_t priority);
    /// It no longer does: a request is taken back.
    void unwant(JobId id);
    /// The scheduler has answered the job's request for good. False when there was none.
    bool answered(JobId id);
    /// The scheduler has taken the job's request back: one that wants resources still, or again, waits anew.
    void cancelled(JobId id);
    bool wanted(JobId id) const noexcept;

    struct Orders {
        std::vector<JobId> request;
        std::vector<JobId> cancel;
        std::vector<std::pair<JobId, std::int64_t>> prioritize;
    };
    /// What the scheduler is to be told now.
    Orders take_orders();

    /// Jobs that wait and are not requested.
    std::size_t waiting() const noexcept { return waiting_.size(); }
    /// Requests without their last answer.
    std::size_t outstanding() const noexcept { return requested_.size() + cancelling_; }

private:
    enum class Phase { waiting, requested, cancelling };
    struct Entry {
        std::int64_t priority;
        Phase phase;
        bool wanted;
    };
    // Before others: higher priority, then lower id.
    struct Place {
        std::int64_t priority;
        JobId id;
        bool operator<(const Place& other) const noexcept {
            return priority != other.priority ? priority > other.priority : id < other.id;
        }
    };
    void cancel(JobId id, Entry& entry);

    bool open_ = false;
    std::optional<std::size_t> limit_;
    std::unordered_map<JobId, Entry> entries_;
    std::set<Place> waiting_;
    std::set<Place> requested_;
    std::size_t cancelling_ = 0;
    std::vector<JobId> cancels_;
    std::unordered_map<JobId, std::int64_t> prioritize_;
};

} // namespace flux::job_manager
